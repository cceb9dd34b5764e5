# Lists the members of every table of operations: "TABLE MEMBER SIDE", where TABLE is the type and, of a tensor
# format, its name; SIDE is cpu or cuda.
FNR == 1 {
  type = ""
  side = FILENAME ~ /^cuda\// ? "cuda" : "cpu"
}
match($0, /^(static )?const amped_[a-z_]+_ops [a-z_]+ = \{/) {
  split($0, word, " ")
  type = word[word[1] == "static" ? 3 : 2]
  name = ""
  count = 0
}
type != "" {
  line = $0
  if (match(line, /\.name = "[a-z]+"/))
    name = " " substr(line, RSTART + 9, RLENGTH - 10)
  while (match(line, /\.[a-z_]+ = /)) {
    member[++count] = substr(line, RSTART + 1, RLENGTH - 4)
    line = substr(line, RSTART + RLENGTH)
  }
  if ($0 ~ /\};/) {
    for (i = 1; i <= count; i++)
      print type name, member[i], side
    type = ""
  }
}
