#!/bin/sh
# plot: what is drawn of long orders, and heat maps, beside numpy's answers; pages of PDF.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
command -v gnuplot >/dev/null 2>&1 || {
  echo "skipped: no gnuplot (Debian: gnuplot-nox)"
  exit 77
}
cd "$scratch" || exit 99

# Results: 6936 hours with a daily rhythm, and a nearly constant curve; an axis with decimals; names that are not ASCII
# or too long; one index.
cat >make.py <<'END'
import datetime, h5py, numpy as np
def result(path, factors, labels, names):
    with h5py.File(path, 'w') as f:
        f['weights'] = np.arange(factors[0].shape[1], 0, -1.0)
        for m, a in enumerate(factors):
            f[f'factors/{m}'] = a
            if labels[m]:
                texts = [x.encode() for x in labels[m]]
                g = f.create_group(f'labels/mode_{m}')
                g['bytes'] = np.frombuffer(b''.join(texts), 'u1')
                g['offsets'] = np.cumsum([0] + [len(x) for x in texts]).astype('u8')
                g.attrs['name'] = np.bytes_(names[m].encode())
rng = np.random.default_rng(5)
t = np.arange(6936)
hours = [(datetime.datetime(2015, 1, 1) + datetime.timedelta(hours=int(i))).isoformat(' ') for i in t]
curves = np.stack([np.sin(2 * np.pi * t / 24) + .2 * rng.normal(size=t.size), 1 + 1e-6 * rng.normal(size=t.size)], 1)
ort = ['東京都新宿区西新宿二丁目八番一号都庁', 'Zürich', 'a label that is much longer than its panel', "it's", '%s'] + \
      [f'n{i}' for i in range(20)]
result('hours.h5', [curves, rng.normal(size=(25, 2)), np.ones((1, 2))], [hours, ort, ['one']], ['hour', 'Ort', 'one'])
result('few.h5', [np.ones((3, 1)), np.ones((2, 1)), np.ones((1, 1))],
       [['東京新宿', '都庁', 'Zürich'], ['a', '都庁'], None], ['Ort', 'x', None])
wave = [f'{250 + 200 * i / 63:.6g}' for i in range(64)]
result('wave.h5', [rng.random((64, 1)), rng.random((7, 1)), rng.normal(size=(3000, 1))],
       [wave, ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'], None], ['wavelength', 'day', None])
END
"$python" make.py || fail "make.py"

# drawn.py RESULT SCRIPT PICTURE COMPONENT MODE: every least and every largest entry of the columns of pixels is a corner
# of the line in the picture. Its place follows from margins and ranges in the script.
cat >drawn.py <<'END'
import re, sys, h5py, numpy as np
result, script, picture, component, mode = sys.argv[1:]
a = h5py.File(result)[f'factors/{int(mode) - 1}'][:, int(component) - 1]
text = open(script, encoding='utf8').read()
head, block = text.split(f'$component_{component}_mode_{mode} << END')
left, right, bottom, top = (float(x) for x in re.findall(r'at screen (\S+?),? ', re.findall('set margins.*', head)[-1] + ' '))
low, high = (float(x) for x in re.search(r'set yrange \[(.*):(.*)\]', block).groups())
svg = open(picture, encoding='utf8').read()
width, height = (int(x) for x in re.search(r'width="(\d+)" height="(\d+)"', svg).groups())
assert low <= min(a.min(), 0) and high >= max(a.max(), 0), 'range'
corners = np.array([[float(x) for x in p.split(',')] for d in re.findall(r"<path[^>]*d='([^']*)'", svg)
                    for p in re.findall(r'-?[\d.]+,-?[\d.]+', d)])
columns = round((right - left) * width)
ends = [i * a.size // columns for i in range(columns + 1)]
ranges = [np.arange(*ends[i:i + 2]) for i in range(columns)] if a.size > 2 * columns else [[i] for i in range(a.size)]
far = 0
for r in ranges:
    for i in (r[int(np.argmin(a[r]))], r[int(np.argmax(a[r]))]):
        x = (left + (right - left) * (i + .5) / a.size) * width
        y = (1 - bottom - (top - bottom) * (a[i] - low) / (high - low)) * height
        far = max(far, np.min(np.abs(corners - [x, y]).max(1)))
print(len(ranges), 'drawn' if far < 1 else f'{far} pixels off')
END
for name in hours wave; do
  for end in gp svg pdf png; do
    expect 0 "" "$amped" plot $name.h5 -o $name.$end
  done
done
same "6936 hours" "$("$python" drawn.py hours.h5 hours.gp hours.svg 1 1)" "1200 drawn"
same "a nearly constant curve" "$("$python" drawn.py hours.h5 hours.gp hours.svg 2 1)" "1200 drawn"
same "wavelengths" "$("$python" drawn.py wave.h5 wave.gp wave.svg 1 1)" "64 drawn"
same "weekdays" "$("$python" drawn.py wave.h5 wave.gp wave.svg 1 2)" "7 drawn"
same "indices" "$("$python" drawn.py wave.h5 wave.gp wave.svg 1 3)" "320 drawn"
# Ticks: months of hours, without midnight; round numbers of an axis that has none of them.
expect 0 "set xtics ('2015-01-01' 1, '2015-02-01' 745, '2015-03-01' 1417" cat hours.gp
expect 0 "set xtics ('250' 1, '300' 16.7[45][0-9]*, '350' 32.5, '400' 48.25[0-9]*, '450' 64)" cat wave.gp

# Titles: one that is too wide has two lines. A legend is beside its axes, never in them.
expect 0 "set title 'Ort, 14 largest of 25'" cat hours.gp
same "keys inside" "$(grep -h '^set key' hours.gp wave.gp | grep -vc 'at screen')" 0

# Heat maps: the products of two columns. Rectangles for few cells, an image for many, in which cells are repeated.
cat >heat.py <<'END'
import re, sys, h5py, numpy as np
result, script, component, x, y = sys.argv[1:]
f = h5py.File(result)
a, b = (f[f'factors/{int(m) - 1}'][:, int(component) - 1] for m in (x, y))
text = open(script, encoding='utf8').read()
rows = text.split(f'$component_{component}_heat << END\n')[1].split('\nEND')[0].split('\n')[1:]
got = np.array([[float(v) for v in row.split('\t')] for row in rows])
times = got.shape[0] // b.size, got.shape[1] // a.size
print(got.shape == (times[0] * b.size, times[1] * a.size) and
      np.allclose(got, np.kron(np.outer(b, a), np.ones(times)), rtol=1e-5), *times)
END
expect 0 "" "$amped" plot wave.h5 -o heat.gp --heat=wavelength,day --overwrite
same "a heat map" "$("$python" heat.py wave.h5 heat.gp 1 1 2)" "True 1 1"
expect 0 "with boxxyerror fillcolor palette" cat heat.gp
expect 0 "set cbrange \[0:" cat heat.gp
expect 0 "" "$amped" plot wave.h5 -o heat.gp --heat=wavelength,3 --overwrite
expect 0 "largest of its range" cat heat.gp
expect 0 ":3 with image" cat heat.gp
expect 0 "set cbrange \[-\(.*\):\1\]" cat heat.gp
expect 0 "" "$amped" plot hours.h5 -o heat.gp --heat=3,2 --overwrite
same "rows of names" "$(awk '/component_1_heat << END/ { inside = 1; next } $0 == "END" { inside = 0 }
  inside && !/^#/' heat.gp | wc -l | tr -d ' ')" 14
for end in svg pdf png; do
  for modes in wavelength,day wavelength,3 3,wavelength; do
    expect 0 "" "$amped" plot wave.h5 -o heat.$end --heat=$modes --overwrite
  done
  expect 0 "" "$amped" plot hours.h5 -o heat.$end --heat=Ort,hour --overwrite
  expect 0 "" "$amped" plot hours.h5 -o heat.$end --heat=one,Ort --overwrite
done

# A character without font would be a box as large as the page in .png and .pdf: it is a question mark, with a warning.
mkdir stub
printf '#!/bin/sh\necho 20-7e a0-17f 2019\n' >stub/fc-list
chmod +x stub/fc-list
for end in png pdf; do
  expect 0 "warning: fonts.$end: 16 characters have no font here, first U+6771, and are drawn as ?" \
    env PATH="$scratch/stub:$PATH" "$amped" plot few.h5 -o fonts.$end --overwrite
done
same "no warning for .svg" "$(env PATH="$scratch/stub:$PATH" "$amped" plot few.h5 -o fonts.svg 2>&1 | grep -c font\ here)" 0
printf '#!/bin/sh\nexit 1\n' >stub/fc-list # no answer: Latin, Greek and Cyrillic letters are assumed
expect 0 "warning: fonts.pdf: 16 characters have no font here" \
  env PATH="$scratch/stub:$PATH" "$amped" plot few.h5 -o fonts.pdf --overwrite
printf '#!/bin/sh\necho 20-ffff\n' >stub/fc-list
same "no warning with fonts" "$(env PATH="$scratch/stub:$PATH" "$amped" plot few.h5 -o fonts.pdf --overwrite 2>&1 | grep -c font\ here)" 0

# More places than pixels, of which their number is no multiple: the largest value is drawn where it is.
"$python" - <<'END'
import h5py, numpy as np
spike = lambda n, at: np.exp(-((np.arange(n) - at) / 8) ** 2)[:, None]
with h5py.File('spike.h5', 'w') as f:
    f.attrs['amped_format'] = np.bytes_('ktensor')
    f.attrs['amped_version'] = np.uint64(1)
    f['weights'] = np.ones(1)
    for m, a in enumerate((spike(450, 300), spike(273, 181), np.ones((2, 1)))):
        f[f'factors/{m}'] = a / np.linalg.norm(a)
END
expect 0 "" "$amped" plot spike.h5 -o spike.gp --heat=1,2
same "the largest value's place" "$(awk '/component_1_heat << END/ { inside = 1; next } $0 == "END" { inside = 0 } inside && !/^#/ {
  rows++; columns = NF
  for (i = 1; i <= NF; i++) if ($i + 0 > most) { most = $i + 0; row = rows; column = i } }
  END { x = (column - 0.5) * 450 / columns; y = (row - 0.5) * 273 / rows
    print (x > 298.5 && x < 302.5), (y > 179.5 && y < 183.5) }' spike.gp)" "1 1"

# Values that are not evenly spaced: each label stands at its value, the line ends at a gap, and a heat map is empty there.
cat >gaps.py <<'END'
import re, sys, datetime, h5py, numpy as np
t = np.concatenate([np.arange(240), np.arange(408, 744)])
wave = np.concatenate([np.arange(250, 300, 2.5), np.arange(300, 450.1, 10)])
months = np.array([m for m in range(36) if m not in (7, 8, 9, 10, 20)])
def even(x):  # the whole axis goes from 1/2 to n + 1/2, the first label is at 1
    return 1 + (x - x[0]) / (x[-1] - x[0]) * (len(x) - 1)
if sys.argv[1] == 'make':
    exec(open('make.py').read().split('rng = ')[0])
    hours = [(datetime.datetime(2015, 1, 1) + datetime.timedelta(hours=int(i))).isoformat(' ') for i in t]
    result('gaps.h5', [np.sin(2 * np.pi * t / 24)[:, None], np.exp(-(wave - 330)**2 / 800)[:, None], 1 + np.arange(31.)[:, None]],
           [hours, [f'{x:g}' for x in wave], [f'{2014 + m // 12}-{m % 12 + 1:02d}' for m in months]], ['hour', 'wavelength', 'month'])
    sys.exit()
text = open('gaps.gp', encoding='utf8').read()
def block(name):
    return text.split(f'${name} << END\n')[1].split('\nEND')[0].split('\n')[1:]
days = np.array([(datetime.date(2014 + m // 12, m % 12 + 1, 1) - datetime.date(2014, 1, 1)).days for m in months])
for mode, x, gaps in (1, t, [240]), (2, wave, []), (3, days, [7, 16]):
    rows = block(f'component_1_mode_{mode}')
    assert [i - k for k, i in enumerate(i for i, row in enumerate(rows) if not row)] == gaps, (mode, rows)
    at = np.array([float(row.split('\t')[0]) for row in rows if row])
    assert np.allclose(at, even(x), rtol=1e-7), mode
heat = np.array([[float(x) for x in row.split('\t')] for row in block('component_1_heat')])
columns = np.linspace(0.5, len(t) + 0.5, heat.shape[1] + 1)
middle = (columns[1:] + columns[:-1]) / 2
inside = (middle > even(t)[239] + 1) & (middle < even(t)[240] - 1)
outside = (middle < even(t)[239]) | (middle > even(t)[240])
row = heat[len(heat) // 2]
assert inside.sum() > 50 and np.isnan(heat[:, inside]).all() and np.isfinite(row[outside]).all()
print('right')
END
"$python" gaps.py make || fail "gaps.py"
expect 0 "" "$amped" plot gaps.h5 -o gaps.gp --heat=hour,wavelength
same "positions of uneven values" "$("$python" gaps.py look)" right
expect 0 "" "$amped" plot gaps.h5 -o gaps.svg --heat=wavelength,month
expect 0 "" "$amped" plot gaps.h5 -o months.gp --heat=wavelength,month
expect 0 "array x0\[36\] = " cat months.gp

# A page of PDF has the size of the picture (72 points per inch, 96 pixels) and no more than readers take.
same "page" "$("$python" -c '
import re, zlib
b = open("wave.pdf", "rb").read()
parts = [b] + [zlib.decompress(s) for s in re.findall(rb"/Filter /FlateDecode.*?stream\r?\n(.*?)\r?\nendstream", b, re.S)]
box = next(m for m in (re.search(rb"/MediaBox \[ ?(\S+) (\S+) (\S+) (\S+) ?\]", p) for p in parts) if m)
print(*(round(float(x)) for x in box.groups()))')" "0 0 900 460"
"$python" -c '
import h5py, numpy as np
with h5py.File("many.h5", "w") as f:
    f["weights"] = np.ones(100)
    for m in range(3):
        f[f"factors/{m}"] = np.ones((3, 100))' || fail "many.h5"
expect 2 ".pdf of these components would be 28334 pixels high, and at most 19200 are possible" \
  "$amped" plot many.h5 -o many.pdf --components=1-100
absent many.pdf
finish
