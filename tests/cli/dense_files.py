#!/usr/bin/env python3
"""Files of dense tensors for tests/cli/dense_files.sh, and what numpy and h5py read of others.

  dense_files.py good FOLDER          arrays of all kinds with the cells of one tensor
  dense_files.py bad FOLDER           arrays that must be refused, and npy.list and h5.list, where
                                      each line is a file's name, a status and a message
  dense_files.py same A B             the same cells in the same type? FILE or FILE:DATASET
  dense_files.py list X OUT.tns       the cells that are not 0, as text
  dense_files.py planted G MODEL SD   cells of G are the model's, but for noise of SD
"""
import struct
import sys

import h5py
import numpy as np

KINDS = ("<f4", ">f4", "<f8", ">f8", "<f2", ">f2", "|i1", "|u1", "<i2", ">i2", "<u2", ">u2", "<i4",
         ">i4", "<u4", "<i8", ">i8", "<u8", ">u8")


def tensor():
    """Whole numbers that every type holds; a third of the cells are 0."""
    rng = np.random.default_rng(3)
    return rng.integers(1, 100, (7, 13, 11)) * (rng.random((7, 13, 11)) < 0.67)


def name(kind):
    return kind.replace("<", "le_").replace(">", "be_").replace("|", "")


def good(folder):
    x = tensor()
    for kind in KINDS:
        a = x.astype(kind)
        np.save(folder + "/%s.npy" % name(kind), a)
        np.save(folder + "/%s.fortran.npy" % name(kind), np.asfortranarray(a))
        with h5py.File(folder + "/%s.h5" % name(kind), "w") as f:
            f.create_dataset("deep/down/x", data=a, dtype=kind, chunks=(3, 5, 4), compression="gzip",
                             shuffle=True)
            f["vector"] = np.arange(5.0)
    with h5py.File(folder + "/matlab.mat", "w", userblock_size=512) as f:
        f["x"] = x.astype("<f8").transpose()  # its dims reversed, as MATLAB writes them
        f["x"].attrs["MATLAB_class"] = np.bytes_("double")
    with open(folder + "/matlab.mat", "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM")
    with h5py.File(folder + "/cube.mat", "w") as f:
        f["x"] = x[:5, :4, :5].astype("<f8").transpose()
        f["x"].attrs["MATLAB_class"] = np.bytes_("double")
    with h5py.File(folder + "/two.h5", "w") as f:
        f["a"] = x.astype("<f4")
        f["b"] = x.astype("<f8") + 1.0
    y = x.astype("<f4")
    y[2, 3, 4] = np.nan
    y[6, 12, 10] = -np.inf
    np.save(folder + "/bad_cells.npy", y)
    with h5py.File(folder + "/bad_cells.h5", "w") as f:
        f["x"] = y
    for kind in ("<f4", "<f8", "<i2", ">i4"):  # netCDF's conventions
        z = x.astype(kind)
        z[2, 3, 4] = z[6, 12, 10] = -9999
        for attribute in ("_FillValue", "missing_value"):
            with h5py.File(folder + "/cdf.%s%s.h5" % (name(kind), attribute), "w") as f:
                f["x"] = z
                f["x"].attrs[attribute] = np.array([-9999], kind)
    z = x.astype("<f4")
    z[2, 3, 4], z[6, 12, 10] = -999, -9999
    with h5py.File(folder + "/cdf.two.h5", "w") as f:
        f["x"] = z
        f["x"].attrs["missing_value"] = np.array([-9999, -999], "f4")
    with h5py.File(folder + "/cdf.half.h5", "w") as f:
        f["x"] = z.astype("<f2")
        f["x"].attrs["missing_value"] = np.array([-9999.0, -999.0])
    with h5py.File(folder + "/cdf.scales.h5", "w") as f:
        cells, place = f.create_dataset("z", data=z), f.create_dataset("lat", data=np.arange(float(z.shape[0])))
        place.make_scale()
        cells.dims[0].attach_scale(place)
    with h5py.File(folder + "/cdf.unit.h5", "w") as f:  # packing that changes nothing
        f["x"] = x.astype("<i2")
        f["x"].attrs["scale_factor"], f["x"].attrs["add_offset"] = 1.0, 0.0
    # Bytes of the other sign than the type has, or of its own; a missing cell and a valid range in the stored type.
    bytes_of = np.random.default_rng(8).integers(0, 251, x.shape).astype("u1")
    bytes_of[2, 3, 4], bytes_of[6, 12, 10], bytes_of[0, 0, 0] = 255, 253, 128
    for stored, word in (("i1", "true"), ("u1", "true"), ("u1", "false"), ("i1", "false"), (">i2", "true"), (">u4", "false")):
        wide = bytes_of.astype(stored.replace("i", "u"))
        if stored[-1] != "1":  # high bits, too
            wide[2, 3, 4], wide[6, 12, 10], wide[0, 0, 0] = np.array([-1, -3, -128]).astype(stored).view(wide.dtype)
        cells = wide.view(stored)
        read = wide.view(stored.replace("i", "u") if word == "true" else stored.replace("u", "i"))
        file = "cdf.sign.%s.%s" % (name(stored) if len(stored) > 2 else stored, word)
        np.save(folder + "/%s.npy" % file, read)
        blank = read.copy()
        blank[2, 3, 4] = blank[6, 12, 10] = 0
        np.save(folder + "/%s.blank.npy" % file, blank)
        with h5py.File(folder + "/%s.h5" % file, "w") as f:
            f["x"] = cells
            f["x"].attrs["_Unsigned"] = np.bytes_(word)
        with h5py.File(folder + "/%s.blank.h5" % file, "w") as f:
            f["x"] = cells
            f["x"].attrs["_Unsigned"] = word
            f["x"].attrs["_FillValue"] = cells[2, 3, 4]
            f["x"].attrs["missing_value"] = cells[6, 12, 10]
        least, most = np.sort(np.delete(read.ravel(), [np.ravel_multi_index(i, read.shape) for i in ((2, 3, 4), (6, 12, 10))]))[[0, -1]]
        if word == "true":  # the largest cells are outside
            with h5py.File(folder + "/%s.range.h5" % file, "w") as f:
                f["x"] = cells
                f["x"].attrs["_Unsigned"] = word
                f["x"].attrs["valid_range"] = np.array([least, most]).astype(wide.dtype).view(stored)
    with h5py.File(folder + "/_Unsigned.h5".replace("/", "/cdf."), "w") as f:
        f["x"] = x.astype("<i1")
        f["x"].attrs["_Unsigned"] = "maybe"
    z = x.astype("<f4")
    z[2, 3, 4], z[6, 12, 10] = -199, 199
    for attributes in ({"valid_range": np.array([-198, 198], "f4")}, {"valid_min": -198.0, "valid_max": 198.0}, {"missing_value": "-199", "_FillValue": 199.0}):
        with h5py.File(folder + "/cdf.%s.h5" % next(iter(attributes)), "w") as f:
            f["x"] = z
            f["x"].attrs.update(attributes)
    # What is no number leaves missing cells among the others.
    for file, attribute, value in (("words", "valid_range", "-198 198"), ("table", "missing_value", np.array([[-199, 199]], "f4")),
                                   ("rows", "valid_min", np.array([[-198, 0]], "f4"))):
        with h5py.File(folder + "/cdf.%s.h5" % file, "w") as f:
            f["x"] = z
            f["x"].attrs[attribute] = value
    for kind, fill in (("<f4", 9.969209968386869e36), (">f8", 9.969209968386869e36), ("<i2", -32767), ("<u4", 4294967295)):
        z = np.abs(x).astype(kind)
        z[2, 3, 4] = z[6, 12, 10] = fill
        with h5py.File(folder + "/cdf.%sdefault.h5" % name(kind), "w") as f:  # a file of netCDF
            f.create_dataset("x", data=z, fillvalue=fill)
        with h5py.File(folder + "/cdf.%sother.nc" % name(kind), "w") as f:  # no fill value of the dataset
            f["x"] = np.abs(x).astype(kind)
    # Markers that a double does not hold, beside cells that round to the same double.
    long, top, low = 2**53 + 1, 2**64 - 1, -(2**63)
    for file, kind, cells, kept, attribute, value, fill in (
        ("fill", "i8", (long, 2**53, 5), (0, 2**53, 5), "_FillValue", np.int64(long), None),
        ("unsigned", "u8", (top, top - 999, 5), (0, top - 999, 5), "missing_value", np.uint64(top), None),
        ("most", "i8", (long, 2**53, 5), (0, 2**53, 5), "valid_max", np.int64(2**53), None),
        ("least", "i8", (long, 2**53, 5), (long, 0, 0), "valid_min", np.int64(long), None),
        ("range", "i8", (long, -long, 5), (long, 0, 5), "valid_range", np.array([-(2**53), long]), None),
        ("text", "i8", (long, 2**53, 5), (0, 2**53, 5), "_FillValue", str(long), None),
        ("default", "i8", (low + 2, low + 3, 5), (0, low + 3, 5), "units", "K", low + 2),
    ):
        with h5py.File(folder + "/long.%s.h5" % file, "w") as f:
            d = f.create_dataset("x", data=np.array(cells * 4, kind).reshape(2, 2, 3), fillvalue=fill)
            d.attrs[attribute] = value
        np.save(folder + "/long.%s.npy" % file, np.array(kept * 4, kind).reshape(2, 2, 3))
    z = x.astype("<f4")
    z[2, 3, 4] = z[6, 12, 10] = 0
    np.save(folder + "/cdf.zeros.npy", z)
    with h5py.File(folder + "/cdf.whole.h5", "w") as f:  # none of its cells is missing
        f["x"] = x.astype("<f4")
        f["x"].attrs["_FillValue"] = np.float64(1e20)
        f["x"].attrs["missing_value"] = "none"
        f["x"].attrs["units"] = "K"
    for attribute in ("scale_factor", "add_offset"):
        with h5py.File(folder + "/cdf.%s.h5" % attribute, "w") as f:
            f["x"] = x.astype("<i2")
            f["x"].attrs[attribute] = 0.5
    np.save(folder + "/cells_made_zero.npy", np.where(np.isfinite(y), y, np.float32(0.0)))
    np.save(folder + "/zeros.npy", np.zeros((3, 4, 5), "<f4"))
    np.save(folder + "/five.npy", np.asfortranarray(
        np.random.default_rng(5).standard_normal((4, 1, 6, 3, 5))))


def npy(path, header, data=b"", version=1, magic=b"\x93NUMPY"):
    text = header.encode()
    with open(path, "wb") as f:
        f.write(magic + bytes((version, 0)))
        f.write(struct.pack("<H" if version == 1 else "<I", len(text)) + text + data)


def header(descr="'<f4'", order="False", shape="(2, 3, 4)"):
    return "{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n" % (descr, order, shape)


def bad_npy(folder):
    x = tensor().astype("<f8")
    lines = []

    def note(base, message):
        lines.append("%s 3 %s" % (base, message))
        return folder + "/" + base

    np.save(note("object.npy", "Python objects"), np.array([[["a", None]] * 2] * 2, dtype=object),
            allow_pickle=True)
    np.save(note("structured.npy", "structured array"), np.zeros((2, 2, 2), dtype=[("a", "<f4"), ("b", "<i4")]))
    np.save(note("complex.npy", "complex"), x.astype("<c8"))
    np.save(note("text.npy", "holds text"), x.astype("<U5"))
    np.save(note("date.npy", "no integers or floats"), np.zeros((2, 2, 2), "<M8[s]"))
    np.save(note("vector.npy", "1 dimensions"), x[0, 0])
    np.save(note("nine.npy", "9 dimensions"), np.zeros((1,) * 9))
    np.save(note("scalar.npy", "0 dimensions"), np.float64(3.0))
    np.save(note("empty.npy", "no cells"), np.zeros((3, 0, 4)))
    whole = open(folder + "/le_f8.npy", "rb").read()
    for base, data, message in (("cut.npy", whole[:-1], "cut off"),
                                ("long.npy", whole + b"\0", "too long"),
                                ("nothing.npy", b"", "is empty"),
                                ("magic.npy", b"\x93NUMPX" + whole[6:], "not a .npy file"),
                                ("head.npy", whole[:40], "header that is cut off")):
        with open(note(base, message), "wb") as f:
            f.write(data)
    npy(note("version.npy", "version"), header(), bytes(96), version=4)
    npy(note("huge.npy", "63 bits"), header(shape="(1099511627776, 1099511627776, 2)"), bytes(96))
    npy(note("wrapped.npy", "63 bits"), header(shape="(4294967296, 4294967296, 1)"), bytes(96))
    npy(note("larger.npy", "cut off"), header(shape="(100000, 100000, 1000)"), bytes(96))
    npy(note("digits.npy", "64 bits"), header(shape="(99999999999999999999999, 3, 4)"), bytes(96))
    npy(note("negative.npy", "64 bits"), header(shape="(-2, 3, 4)"), bytes(96))
    npy(note("python.npy", "without a shape"), header(shape="__import__('os')"), bytes(96))
    npy(note("keys.npy", "lacks"), "{'descr': '<f4', 'shape': (2, 3, 4)}", bytes(96))
    npy(note("open.npy", "does not end"), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4", bytes(96))
    with open(folder + "/npy.list", "w") as f:
        f.write("\n".join(lines) + "\n")


def bad_h5(folder):
    lines = []

    def note(base, status, message):
        lines.append("%s %d %s" % (base, status, message))
        return h5py.File(folder + "/" + base, "w")

    with note("compound.h5", 3, "compounds") as f:
        f["x"] = np.zeros((2, 2, 2), dtype=[("a", "<f4"), ("b", "<i4")])
    with note("complex.h5", 3, "complex") as f:
        f["x"] = np.zeros((2, 2, 2), dtype="<c16")
    with note("strings.h5", 3, "text") as f:
        f.create_dataset("x", (2, 2, 2), dtype=h5py.string_dtype())
    with note("none.h5", 3, "no cells") as f:
        f.create_dataset("x", (2, 0, 2), dtype="<f4")
    with note("overflow.h5", 3, "larger than what the file stores") as f:
        f.create_dataset("x", (2**40, 2**40, 2), dtype="<f4", chunks=(1, 1, 2))
    with note("flat.h5", 3, "holds no tensor") as f:
        f["x"] = np.zeros((4, 4))
        f["y"] = np.zeros((1,) * 9)
    with note("several.h5", 2, "/x, /y") as f:
        f["x"] = np.zeros((2, 2, 2))
        f["y"] = np.zeros((2, 2, 2, 2))
    with note("cut.h5", 3, "truncated") as f:
        f["x"] = tensor()
    with open(folder + "/cut.h5", "r+b") as f:
        f.truncate(4000)
    with open(folder + "/h5.list", "w") as f:
        f.write("\n".join(lines) + "\n")


def bad(folder):
    bad_npy(folder)
    bad_h5(folder)


def load(path):
    if path.endswith(".npy"):
        return np.load(path)
    path, _, dataset = path.partition(":")
    with h5py.File(path) as f:
        return f[dataset or "dense"][...]


def same(a, b):
    x, y = load(a), load(b)
    if x.shape != y.shape or x.dtype.newbyteorder("=") != y.dtype.newbyteorder("="):
        sys.exit("%s %s, %s %s" % (x.shape, x.dtype, y.shape, y.dtype))
    if not np.array_equal(x, y):
        sys.exit("%s and %s have other cells" % (a, b))


def write_list(path, out):
    x = load(path)
    with open(out, "w") as f:
        f.write("# dims: %s\n" % " ".join(map(str, x.shape)))
        for i in np.argwhere(x):
            f.write("%s %r\n" % (" ".join(str(k + 1) for k in i), float(x[tuple(i)])))


def planted(path, model, sd):
    x = load(path).astype(float)
    with h5py.File(model) as f:
        weights = f["weights"][...]
        factors = [f["factors/%d" % m][...] for m in range(x.ndim)]
    letters = "ijklmn"[: x.ndim]
    terms = ",".join(c + "r" for c in letters)
    expected = np.einsum("r,%s->%s" % (terms, letters), weights, *factors, optimize=True)
    sizes = np.einsum("r,%s->%s" % (terms, letters), weights, *map(np.abs, factors), optimize=True)
    if sd == 0.0:
        # A cell is rounded to float once; sums are in double.
        if np.any(np.abs(x - expected) > 2.0**-23 * sizes):
            sys.exit("cells are not the model's")
        return
    z = (x - expected) / sd
    # Of n normal numbers the mean is within 5 / sqrt(n), the mean square within 5 sqrt(2 / n) of 1.
    if abs(z.mean()) > 5 / z.size**0.5 or abs((z**2).mean() - 1) > 5 * (2 / z.size) ** 0.5:
        sys.exit("noise of mean %g, square %g" % (z.mean(), (z**2).mean()))


if __name__ == "__main__":
    {"good": good, "bad": bad, "same": same, "list": write_list,
     "planted": lambda g, m, sd: planted(g, m, float(sd))}[sys.argv[1]](*sys.argv[2:])
