# Finds initialisers by position of structs whose members must be named: structs with a pointer to a
# function, with a bool, or with a name that ends in _needs or _ops. Files are read twice: headers
# with pass=1, for their types and macros, then all files with pass=2. Prints FILE:LINE: TYPE.
#
# tok[i], at[i]: words of a file and their lines. Bodies of macros follow behind its own words, each
# ended by ";", so that they are searched like code.

function is_name(word) { return word ~ /^[A-Za-z_]/ }

# A line without comments; a string is "", a character 1.
function clean(line, out, c) {
  out = ""
  for (;;) {
    if (in_comment) {
      if (!(c = index(line, "*/"))) return out
      line = substr(line, c + 2)
      in_comment = 0
      out = out " "
    }
    if (!match(line, /["']|\/\*|\/\//)) return out line
    c = substr(line, RSTART, RLENGTH)
    out = out substr(line, 1, RSTART - 1)
    line = substr(line, RSTART)
    if (c == "//") return out
    if (c == "/*") {
      in_comment = 1
      RLENGTH = 2
    } else if (c == "\"") {
      match(line, /^"([^"\\]|\\.)*"?/)
      out = out " \"\" "
    } else {
      match(line, /^'([^'\\]|\\.)*'?/)
      out = out " 1 "
    }
    line = substr(line, RLENGTH + 1)
  }
}

# Appends the words of a text. Each sign is a word.
function add_words(text, line, words, count, k) {
  gsub(/[^A-Za-z0-9_ \t]/, " & ", text)
  count = split(text, words)
  for (k = 1; k <= count; k++) {
    tok[++n] = words[k]
    at[n] = line
  }
}

# --- macros -----------------------------------------------------------------------------------------

# A line of a directive, or one that continues it. Lines of a macro's body are kept for later.
function directive(text, line) {
  if (!in_directive) {
    in_macro = match(text, /^[ \t]*#[ \t]*define[ \t]+[A-Za-z0-9_]+(\([^)]*\))?/)
    if (in_macro) {
      macros++
      macro_name[macros] = substr(text, 1, RLENGTH)
      sub(/^[ \t]*#[ \t]*define[ \t]+/, "", macro_name[macros])
      sub(/\(.*/, "", macro_name[macros])
      macro_line[macros] = line
      macro_rows[macros] = 0
      text = substr(text, RLENGTH + 1)
    }
  }
  in_directive = text ~ /\\[ \t\r]*$/
  if (in_macro) {
    gsub(/\\[ \t\r]*$/, "", text)
    macro_text[macros, ++macro_rows[macros]] = text
  }
}

# Puts the macros of the file behind its words. Those of headers are kept for other files too.
function place_macros(m, k, name) {
  for (m = 1; m <= macros; m++) {
    name = macro_name[m]
    macro_from[m] = n + 1
    for (k = 1; k <= macro_rows[m]; k++) {
      add_words(macro_text[m, k], macro_line[m] + k - 1)
      if (pass == 1) far_text[name, k] = macro_text[m, k]
    }
    tok[++n] = ";"
    at[n] = macro_line[m]
    if (pass == 1) {
      far_rows[name] = macro_rows[m]
      far_line[name] = macro_line[m]
      far_file[name] = file
    }
    macro_last[name] = m
    macro_before[m] = (name in macro_latest) ? macro_latest[name] : 0
    macro_latest[name] = m
  }
}

# Where the body of a macro that a word at a line names begins, or 0.
function body_of_macro(name, line, m, k) {
  if (name in macro_latest) {
    m = macro_latest[name]
    while (macro_before[m] && macro_line[m] > line + 0) m = macro_before[m]
    return macro_from[m]
  }
  if (!(name in far_rows)) return 0
  if (!(name in far_from)) {
    far_from[name] = n + 1
    for (k = 1; k <= far_rows[name]; k++) add_words(far_text[name, k], far_file[name] ":" (far_line[name] + k - 1))
    tok[++n] = ";"
    at[n] = ""
  }
  return far_from[name]
}

# --- types ------------------------------------------------------------------------------------------

function new_type(name) {
  types++
  type_name[types] = name == "" ? "struct without a name" : name
  type_members[types] = 0
  if (name != "") set_type(name, types)
  return types
}

function set_type(name, id) {
  if (pass == 1) far_type[name] = id
  else near_type[name] = id
}

function type_of(name) {
  if (name in near_type) return near_type[name]
  if (name in far_type) return far_type[name]
  return 0
}

function add_member(id, name, type, dims, pointer, k) {
  k = ++type_members[id]
  member_name[id, k] = name
  member_type[id, k] = type
  member_dims[id, k] = dims
  member_pointer[id, k] = pointer
}

function member_number(id, name, k) {
  for (k = 1; k <= type_members[id]; k++)
    if (member_name[id, k] == name) return k
  return 0
}

# True for structs whose initialisers must have names.
function has_names(id, k, type) {
  if (type_name[id] ~ /_(needs|ops)$/) return 1
  for (k = 1; k <= type_members[id]; k++) {
    type = member_type[id, k]
    if (type == "(*)" || type in functions || ((type == "bool" || type == "_Bool") && !member_pointer[id, k])) return 1
  }
  return 0
}

# The place behind the bracket that ends the one at i; n + 1 if none does.
function behind(i, depth) {
  depth = 0
  for (; i <= n; i++) {
    if (tok[i] ~ /^[({[]$/) depth++
    else if (tok[i] ~ /^[)}\]]$/ && --depth == 0) return i + 1
  }
  return n + 1
}

# The place behind the < ... > at i.
function behind_angles(i, depth) {
  depth = 0
  for (; i <= n && tok[i] !~ /^[;{}]$/; i++) {
    if (tok[i] == "<") depth++
    else if (tok[i] == ">" && --depth == 0) return i + 1
  }
  return i
}

# The struct or union whose keyword is at i, if its members follow: the place of their brace, else 0.
# Its tag is left in struct_tag.
function brace_of_struct(i, k) {
  struct_tag = ""
  for (i++; tok[i] ~ /^(alignas|_Alignas|__align__|__attribute__)$/ && tok[i + 1] == "("; ) i = behind(i + 1)
  if (is_name(tok[i])) struct_tag = tok[i++]
  if (tok[i] == "<") i = behind_angles(i)
  if (tok[i] == "final") i++
  if (tok[i] == ":")
    for (k = 0; k < 40 && tok[i] !~ /^[{;)]$/; k++) i++
  return tok[i] == "{" ? i : 0
}

# Reads the members of a struct from the brace at i; the place behind its end.
function read_members(i, id) {
  for (i++; i <= n && tok[i] != "}"; ) i = read_member(i, id)
  return i + 1
}

function read_member(i, id, type, inner, brace, k, pointer, name, dims, is_function, skipped) {
  while (tok[i] ~ /^(const|volatile|static|mutable|constexpr|inline|public|private|protected|:|;)$/ ||
         tok[i] ~ /^(alignas|_Alignas|__align__|__attribute__|template|__device__|__host__|__forceinline__)$/) {
    if (tok[i + 1] == "(") i = behind(i + 1)
    else if (tok[i + 1] == "<") i = behind_angles(i + 1)
    else i++
  }
  if (tok[i] == "}") return i
  if (tok[i] == "enum") {
    while (tok[i] !~ /^[{;]$/ && i <= n) i++
    if (tok[i] == "{") i = behind(i)
    type = "int"
  } else if (tok[i] == "struct" || tok[i] == "union") {
    brace = brace_of_struct(i)
    if (brace) {
      inner = new_type(struct_tag)
      type = "#" inner
      near_type[type] = far_type[type] = inner
      i = read_members(brace, inner)
      if (tok[i] == ";")
        for (k = 1; k <= type_members[inner]; k++)
          add_member(id, member_name[inner, k], member_type[inner, k], member_dims[inner, k], member_pointer[inner, k])
    } else {
      type = tok[i + 1]
      i += 2
    }
  } else {
    type = tok[i++]
    if (tok[i] == "<") i = behind_angles(i)
  }
  pointer = dims = is_function = skipped = 0
  name = ""
  for (; i <= n; i++) {
    k = tok[i]
    if (k == "(") {
      if (tok[i + 1] == "*") {
        is_function = 1
        for (k = i + 1; tok[k] == "*" || tok[k] == "const"; ) k++
        name = tok[k]
        for (; tok[k] != ")" && k <= n; k++)
          if (tok[k] == "[") dims++
      } else if (!is_function)
        skipped = 1
      i = behind(i) - 1
      if (skipped && tok[i + 1] == "{") return behind(i + 1)
    } else if (k == "[") {
      dims++
      i = behind(i) - 1
    } else if (k == "{")
      i = behind(i) - 1
    else if (k == "*" || k == "&")
      pointer = 1
    else if (k == "<")
      i = behind_angles(i) - 1
    else if (k == "," || k == ";" || k == "}") {
      if (name != "" && (is_function || !skipped)) add_member(id, name, is_function ? "(*)" : type, dims, is_function ? 0 : pointer)
      pointer = dims = is_function = skipped = 0
      name = ""
      if (k == ";") return i + 1
      if (k == "}") return i
    } else if (k == "=") {
      while (tok[i + 1] !~ /^[,;}]$/ && i < n) i = tok[i + 1] ~ /^[({[]$/ ? behind(i + 1) - 1 : i + 1
    } else if (is_name(k) && k !~ /^(const|volatile|restrict|__restrict__|int|long|short|char|double)$/)
      name = k
  }
  return i
}

# A typedef without members: a name of a function type, or one more name of a struct.
function read_typedef(i, first, depth, plain) {
  first = i
  plain = 1
  for (i++; i <= n && tok[i] != ";" && i < first + 200; i++)
    if (tok[i] == "(") {
      if (tok[i + 1] == "*" && tok[i + 3] == ")" && tok[i + 4] == "(") functions[tok[i + 2]] = 1
      else if (is_name(tok[i - 1]) && tok[i - 1] != "__attribute__" && i - first > 2) functions[tok[i - 1]] = 1
      return
    }
  if (tok[first + 1] ~ /^(struct|const)$/) first++
  if (i == first + 3 && type_of(tok[first + 1])) set_type(tok[first + 2], type_of(tok[first + 1]))
}

# --- initialisers -----------------------------------------------------------------------------------

function report(i, id, place) {
  place = at[i] ~ /:/ ? at[i] : file ":" at[i]
  if (pass == 1 || place in reported) return
  reported[place] = 1
  print place ": " type_name[id]
}

# True for {}, {0}, and these in braces.
function is_zero(i) {
  if (tok[i + 1] == "{") return is_zero(i + 1) && tok[behind(i + 1)] == "}"
  return tok[i + 1] == "}" || (tok[i + 1] == "0" && tok[i + 2] == "}")
}

function is_literal(i) { return tok[i] ~ /^([0-9"]|true$|false$|NULL$|nullptr$|-$)/ }

# The place of the comma or bracket that ends the element at i.
function end_of_element(i) {
  while (i <= n && tok[i] !~ /^[,;)}\]]$/) i = tok[i] ~ /^[({[]$/ ? behind(i) : i + 1
  return i
}

# Checks the initialiser of a struct, or of an array of some dimensions, from its brace at i.
function check(i, id, dims, end, k, done) {
  if (is_zero(i)) return
  done = k = 0
  for (i++; i <= n && tok[i] != "}" && tok[i] != ";"; i = tok[end] == "," ? end + 1 : end) {
    end = end_of_element(i)
    if (dims > 0) check_row(i, end, id, dims, 0)
    else if (tok[i] == "." && is_name(tok[i + 1])) k = check_named(i, id)
    else if (!names_of_macro(i)) {
      if (has_names(id) && !done) {
        report(i, id)
        done = 1
      }
      if (++k <= type_members[id]) check_value(i, member_type[id, k], member_dims[id, k], member_pointer[id, k])
    }
    if (tok[end] ~ /^[;)\]]$/) return
  }
}

# True for a macro that stands for named members.
function names_of_macro(i, from) {
  return is_name(tok[i]) && (from = body_of_macro(tok[i], at[i])) && tok[from] == "." && is_name(tok[from + 1])
}

# Checks .a = value, or .a.b[c] = value; the number of a.
function check_named(i, id, k, first, dims, type, pointer) {
  first = 0
  type = ""
  dims = pointer = 0
  for (;;) {
    if (tok[i] == ".") {
      k = member_number(id, tok[i + 1])
      if (!first) first = k
      type = k ? member_type[id, k] : ""
      dims = k ? member_dims[id, k] : 0
      pointer = k ? member_pointer[id, k] : 0
      id = k ? type_of(type) : 0
      i += 2
    } else if (tok[i] == "[") {
      dims--
      i = behind(i)
    } else
      break
  }
  if (tok[i] == "=") i++
  if (type != "") check_value(i, type, dims, pointer)
  return first
}

function check_value(i, type, dims, pointer, id, from) {
  id = type_of(type)
  if (!id || pointer) return
  if (is_name(tok[i]) && (from = body_of_macro(tok[i], at[i])) && tok[from] == "{") check(from, id, dims)
  else if (tok[i] == "{") check(i, id, dims)
  else if (dims == 0 && is_literal(i) && has_names(id)) report(i, id)
}

# Checks a row of an array, or macros that make rows.
function check_row(i, end, id, dims, depth) {
  while (tok[i] == "[") {
    i = behind(i)
    if (tok[i] == "[") dims--
  }
  if (tok[i] == "=") i++
  if (tok[i] == "{") check(i, id, dims - 1)
  else if (is_name(tok[i])) check_macros(i, end, id, dims, depth)
  else if (dims == 1 && is_literal(i) && has_names(id)) report(i, id)
}

function check_macros(i, end, id, dims, depth, from, last) {
  for (; i < end && depth < 8; i++) {
    if (!is_name(tok[i]) || !(from = body_of_macro(tok[i], at[i]))) continue
    if (tok[from] == "{" || tok[from] == "[")
      for (; tok[from] != ";" && from <= n; from = tok[last] == ";" ? last : last + 1) {
        last = end_of_element(from)
        check_row(from, last, id, dims, depth + 1)
      }
    else {
      for (last = from; last <= n && tok[last] != ";"; ) last++
      check_macros(from, last, id, dims, depth + 1)
    }
  }
}

# Checks what follows a type at i, if it declares variables.
function check_declared(i, id, pointer, dims, from) {
  for (;;) {
    pointer = dims = 0
    while (tok[i] ~ /^(\*|const|volatile|restrict|__restrict__)$/)
      if (tok[i++] == "*") pointer = 1
    if (!is_name(tok[i])) return
    for (i++; tok[i] == "["; dims++) i = behind(i)
    while (tok[i] == "__attribute__") i = behind(i + 1)
    if (tok[i] == "=" || (is_cpp && tok[i] == "{")) {
      if (tok[i] == "=") i++
      if (!pointer && tok[i] == "{") check(i, id, dims)
      else if (!pointer && is_name(tok[i]) && (from = body_of_macro(tok[i], at[i])) && tok[from] == "{") check(from, id, dims)
      i = end_of_element(i)
    }
    if (tok[i] != ",") return
    i++
  }
}

# Checks what the name of a struct at i begins.
function check_use(i, id, k, dims) {
  if (tok[i - 1] ~ /^(\.|namespace)$/ || (tok[i - 1] == ">" && tok[i - 2] == "-")) return
  k = i - 1
  while (tok[k] == "const" || tok[k] == "struct") k--
  i++
  if (tok[i] == "<") i = behind_angles(i)
  if (tok[i] == "const") i++
  if (tok[k] == "(") {
    for (dims = 0; tok[i] == "["; dims++) i = behind(i)
    if (tok[i] == ")" && tok[i + 1] == "{") check(i + 1, id, dims)
    if (tok[i] == ")") return
  }
  if (is_cpp && tok[i] == "{") check(i, id, 0)
  else if (is_cpp && is_name(tok[i]) && tok[i + 1] == "(") {
    k = behind(i + 1)
    if (tok[k] == "{") {
      returned = id
      returned_until = behind(k)
    }
  } else
    check_declared(i, id)
}

function read_file(i, id, brace, end, t) {
  place_macros()
  is_cpp = file ~ /\.cuh?$/
  end = n
  for (i = 1; i <= end; i++) {
    t = tok[i]
    if (t == "struct" || t == "union") {
      if (!(brace = brace_of_struct(i))) continue
      id = new_type(struct_tag)
      t = tok[i - 1] == "typedef"
      i = read_members(brace, id) - 1
      if (!t) check_declared(i + 1, id)
      else if (is_name(tok[i + 1])) {
        type_name[id] = tok[i + 1]
        set_type(tok[i + 1], id)
      }
    } else if (t == "typedef") {
      if (!((tok[i + 1] == "struct" || tok[i + 1] == "union") && brace_of_struct(i + 1))) read_typedef(i)
    } else if (t == "return") {
      if (is_cpp && tok[i + 1] == "{" && i < returned_until) check(i + 1, returned, 0)
    } else if (t in near_type || t in far_type)
      check_use(i, type_of(t))
  }
}

function begin_file() {
  split("", tok)
  split("", at)
  split("", near_type)
  split("", macro_latest)
  split("", macro_before)
  split("", far_from)
  n = macros = in_comment = in_directive = in_macro = returned_until = 0
  file = FILENAME
}

FNR == 1 {
  if (file != "") read_file()
  begin_file()
  pass = next_pass
}
{
  line = $0
  if (in_comment || line ~ /["'\/]/) line = clean(line)
  if (in_directive || line ~ /^[ \t]*#/) directive(line, FNR)
  else if (line ~ /[^ \t]/) add_words(line, FNR)
}
END { if (file != "") read_file() }
