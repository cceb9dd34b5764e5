#!/usr/bin/python3
"""Files of other programs, for the tests: made and read with plain h5py.

  h5py_files.py have                     status 0 where numpy and h5py are there
  h5py_files.py coo NESTING OUT.h5       a binsparse coordinate list; NESTING: flat, nested, both
  h5py_files.py coo1 OUT.h5              the same with index_base 1, int64 indices, deflate
  h5py_files.py list IN.h5 OUT.h5 [SEED] the nonzeros of a tensor file as one list without copies:
                                         as they stand; or shuffled, with int64 indices and doubles
  h5py_files.py spoil FILE.h5 WHAT       spoil one element of such a list: index, nan, value, or byte
                                         (of a chunk)
  h5py_files.py attribute FILE.h5 GROUP NAME VALUE   an attribute that is there has another value
  h5py_files.py rename FILE.h5 A B       two objects take each other's name
  h5py_files.py move FILE.h5 A B         an object gets another name
  h5py_files.py delete FILE.h5 NAME      an object is gone
  h5py_files.py remove FILE.h5 GROUP NAME    an attribute is gone
  h5py_files.py take FILE.h5 OTHER.h5 NAME   a dataset of the other file, with its attributes
  h5py_files.py equal A.h5 B.h5          are two results the same, to the bit?
  h5py_files.py scale IN.h5 OUT.h5 X     such a start with every column times X
  h5py_files.py wide IN.h5 OUT.h5 MODE WIDTH   a tensor file of ours whose copy of a mode is one iDp, said to
                                         be of so many indices
  h5py_files.py labels IN.h5 OUT.h5      a tensor file of ours with offsets of labels that descend
  h5py_files.py init OUT.h5 R D0 D1 ...  a start for --init: weights and factors alone
  h5py_files.py dead OUT.h5 D0 D1 ...    the same of 3 components, one of them zero in all modes
  h5py_files.py tensor FILE.h5           check a tensor file of ours against its own COO
  h5py_files.py result FILE.h5           check a result: shapes, unit columns, order of weights

The coordinate list is always the same 3 x 4 x 5 tensor of 4 nonzeros:
  (0,3,4) 1.0, (0,1,0) -2.0, (1,0,2) 3.0, (2,2,1) 4.0
"""
import json
import shutil
import sys

try:
    import h5py
    import numpy as np
except ImportError as missing:
    sys.exit("skipped: %s" % missing)

COORDINATES = np.array([[0, 0, 1, 2], [3, 1, 0, 2], [4, 0, 2, 1]])
VALUES = np.array([1.0, -2.0, 3.0, 4.0])


def write_coo(path, nesting, base=0, index_type=np.uint32, **storage):
    keys = {
        "version": "0.1",
        "format": "custom",
        "shape": [3, 4, 5],
        "number_of_stored_values": 4,
        "custom": {"level": {"level_desc": "sparse", "rank": 3,
                             "level": {"level_desc": "element"}}},
        "data_types": {"values": "float32"},
    }
    if base:
        keys["index_base"] = base
    for m in range(3):
        keys["data_types"]["indices_%d" % m] = np.dtype(index_type).name
    text = {"flat": keys, "nested": {"binsparse": keys},
            "both": dict(keys, binsparse=keys)}[nesting]
    with h5py.File(path, "w") as f:
        f.attrs["binsparse"] = json.dumps(text)
        for m in range(3):
            f.create_dataset("indices_%d" % m, data=(COORDINATES[m] + base).astype(index_type),
                             **storage)
        f.create_dataset("values", data=VALUES.astype(np.float32), **storage)


def describe(dims, nnz):
    level = {"level_desc": "sparse", "rank": len(dims), "level": {"level_desc": "element"}}
    return json.dumps({"version": "0.1", "format": "custom", "shape": [int(d) for d in dims],
                       "number_of_stored_values": int(nnz), "custom": {"level": level}})


def write_list(source, path, seed):
    with h5py.File(source, "r") as f, h5py.File(path, "w") as out:
        order, nnz = int(f.attrs["order"]), int(f.attrs["nnz"])
        storage = {"chunks": (min(nnz, 1 << 20),), "fletcher32": True}
        by = slice(None) if seed is None else np.random.RandomState(seed).permutation(nnz)
        out.attrs["binsparse"] = describe(f.attrs["dims"], nnz)
        for m in range(order):
            indices = f["indices_%d" % m][:][by]
            out.create_dataset("indices_%d" % m, **storage,
                               data=indices if seed is None else indices.astype(np.int64))
        values = f["values"][:][by]
        out.create_dataset("values", data=values if seed is None else values.astype(np.float64),
                           **storage)


def spoil(path, what):
    with h5py.File(path, "r+") as f:
        last = len(f["values"]) - 1
        if what == "index":
            f["indices_1"][last] = np.iinfo(f["indices_1"].dtype).max
        elif what == "nan":
            f["values"][last] = np.nan
        elif what == "value":
            f["values"][last] *= 2
        else:
            at = f["values"].id.get_chunk_info(0).byte_offset
    if what == "byte":
        with open(path, "r+b") as f:
            f.seek(at + 17)
            byte = f.read(1)
            f.seek(at + 17)
            f.write(bytes([byte[0] ^ 4]))


def change_attribute(path, group, name, value):
    with h5py.File(path, "r+") as f:
        old = f[group].attrs.get_id(name)
        if old.dtype.kind in "SO":
            new = np.bytes_(value)
        else:
            new = np.array([float(v) for v in value.split("x")]).astype(old.dtype)
        f[group].attrs.create(name, new.reshape(old.shape))


def rename(path, left, right):
    with h5py.File(path, "r+") as f:
        f.move(left, "other")
        f.move(right, left)
        f.move("other", right)


def move(path, old, new):
    with h5py.File(path, "r+") as f:
        f.move(old, new)


def delete(path, name):
    with h5py.File(path, "r+") as f:
        del f[name]


def remove(path, group, name):
    with h5py.File(path, "r+") as f:
        del f[group].attrs[name]


def take(path, other, name):
    with h5py.File(path, "r+") as f, h5py.File(other, "r") as source:
        del f[name]
        source.copy(name, f, name)


def check_equal(left, right):
    with h5py.File(left, "r") as a, h5py.File(right, "r") as b:
        names = ["weights", "fit"] + ["factors/%d" % m for m in range(len(a["factors"]))]
        for name in names:
            assert (a[name][:] == b[name][:]).all(), name
        for name in ("input_hash", "input_norm"):
            assert a.attrs[name] == b.attrs[name], name


def write_init(path, ncomps, dims, dead=False):
    random = np.random.RandomState(7)
    with h5py.File(path, "w") as f:
        f["weights"] = np.ones(ncomps, dtype=np.float32)
        for m, dim in enumerate(dims):
            columns = random.rand(dim, ncomps)
            if dead:
                columns[:, 1] = 0
            f["factors/%d" % m] = columns


def write_scaled(source, path, factor):
    with h5py.File(source) as f, h5py.File(path, "w") as g:
        g["weights"] = f["weights"][:]
        for name in f["factors"]:
            g["factors/" + name] = f["factors/" + name][:] * factor


def write_wide(source, path, mode, width):
    shutil.copy(source, path)
    with h5py.File(path, "a") as f:
        copy = f["amped/mode_%d" % mode]
        del f.attrs["amped_seal"]
        copy.attrs["width"] = np.uint64(width)
        copy.attrs["idp_count"] = np.uint64(1)
        del copy["idp_nnz"]
        copy.create_dataset("idp_nnz", data=np.array([f.attrs["nnz"]], dtype=np.uint64), chunks=(1,), fletcher32=True)


def break_labels(source, path):
    shutil.copy(source, path)
    with h5py.File(path, "a") as f:
        offsets = f["labels/mode_1/offsets"]
        offsets[1] = offsets[-1] + np.uint64(1)


def coordinates_of(group, order):
    return [group["indices_%d" % m][:].astype(np.uint64) for m in range(order)]


def check_tensor(path):
    with h5py.File(path, "r") as f:
        text = json.loads(f.attrs["binsparse"])
        order, nnz, dims = int(f.attrs["order"]), int(f.attrs["nnz"]), list(f.attrs["dims"])
        assert f.attrs["amped_format"].decode() == "tensor" and f.attrs["amped_version"] == 1
        for keys in (text, text["binsparse"]):
            assert keys["shape"] == [int(d) for d in dims] and len(dims) == order
            assert keys["number_of_stored_values"] == nnz
            for name, kind in keys["data_types"].items():
                assert f[name].dtype == np.dtype(kind), name
        root, values = coordinates_of(f, order), f["values"][:]
        assert f["values"] == f["amped/mode_0/values"]
        for m in range(order):
            g = f["amped/mode_%d" % m]
            copy = coordinates_of(g, order)
            keys = [m] + [k for k in range(order) if k != m]
            # A stable sort of the root's list by this mode first is the copy.
            by = np.lexsort([root[k] for k in reversed(keys)])
            for k in range(order):
                assert (copy[k] == root[k][by]).all(), (m, k)
            assert (g["values"][:] == values[by]).all(), m
            counts = np.bincount((copy[m] // g.attrs["width"]).astype(np.int64),
                                 minlength=int(g.attrs["idp_count"]))
            assert (counts == g["idp_nnz"][:]).all(), m
            assert "heavy_rows" not in g, m
            if "labels/mode_%d" % m in f:
                offsets = f["labels/mode_%d/offsets" % m][:]
                raw = f["labels/mode_%d/bytes" % m][:].tobytes()
                assert len(offsets) == dims[m] + 1 and offsets[-1] == len(raw)
                raw.decode("utf-8")
        unique = {}
        for k in range(nnz):
            at = tuple(int(root[m][k]) for m in range(order))
            unique[at] = unique.get(at, 0.0) + float(values[k])
        norm = sum(v * v for v in unique.values())
        assert abs(norm - f.attrs["norm_squared"]) <= 1e-14 * nnz * norm, norm


def check_result(path):
    with h5py.File(path, "r") as f:
        assert f.attrs["amped_format"].decode() == "ktensor"
        weights = f["weights"][:]
        factors = [f["factors/%d" % m][:] for m in range(len(f["factors"]))]
        assert (np.diff(weights) <= 0).all()
        assert [len(a) for a in factors] == list(f.attrs["input_dims"])
        for a in factors:
            assert a.shape[1] == len(weights)
            norms = np.sqrt((a * a).sum(axis=0))
            assert ((abs(norms - 1) < 1e-5) | (norms == 0)).all(), norms
        json.loads(f.attrs["options"])
        assert np.isfinite(f["fit"][:]).all()


def main(args):
    if args[:1] == ["have"]:
        return
    if args[:1] == ["coo"] and len(args) == 3:
        write_coo(args[2], args[1])
    elif args[:1] == ["coo1"] and len(args) == 2:
        write_coo(args[1], "flat", base=1, index_type=np.int64, compression="gzip", shuffle=True)
    elif args[:1] == ["list"] and len(args) in (3, 4):
        write_list(args[1], args[2], int(args[3]) if len(args) == 4 else None)
    elif args[:1] == ["spoil"] and len(args) == 3:
        spoil(args[1], args[2])
    elif args[:1] == ["attribute"] and len(args) == 5:
        change_attribute(*args[1:])
    elif args[:1] == ["rename"] and len(args) == 4:
        rename(*args[1:])
    elif args[:1] == ["move"] and len(args) == 4:
        move(*args[1:])
    elif args[:1] == ["delete"] and len(args) == 3:
        delete(*args[1:])
    elif args[:1] == ["remove"] and len(args) == 4:
        remove(*args[1:])
    elif args[:1] == ["take"] and len(args) == 4:
        take(*args[1:])
    elif args[:1] == ["equal"] and len(args) == 3:
        check_equal(args[1], args[2])
    elif args[:1] == ["init"] and len(args) > 3:
        write_init(args[1], int(args[2]), [int(d) for d in args[3:]])
    elif args[:1] == ["scale"] and len(args) == 4:
        write_scaled(args[1], args[2], float(args[3]))
    elif args[:1] == ["wide"] and len(args) == 5:
        write_wide(args[1], args[2], int(args[3]), int(args[4]))
    elif args[:1] == ["labels"] and len(args) == 3:
        break_labels(args[1], args[2])
    elif args[:1] == ["dead"] and len(args) > 2:
        write_init(args[1], 3, [int(d) for d in args[2:]], dead=True)
    elif args[:1] == ["tensor"] and len(args) == 2:
        check_tensor(args[1])
    elif args[:1] == ["result"] and len(args) == 2:
        check_result(args[1])
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
