"""Reads archives from standard input as Python's standard library does; answers one line of JSON for each.

Each archive comes as its length in 4 bytes, little-endian, and its bytes. Nothing is extracted.
"""

import hashlib
import io
import json
import struct
import sys
import tarfile
import zipfile


def plain(name):
    name = name[:-1] if name.endswith("/") else name
    return name[2:] if name.startswith("./") else name


def add(place, name, value):
    name = plain(name)
    place[name] = "twice" if name in place else value


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def read_zip(data, reading):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            if info.is_dir():
                add(reading["directories"], info.filename, "")
            else:
                add(reading["files"], info.filename, sha256(archive.read(info)))


def read_tar(data, reading):
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz", encoding="utf-8") as archive:
        for member in archive:
            if member.isdir():
                add(reading["directories"], member.name, "")
            elif member.islnk():
                content = archive.extractfile(member)
                add(reading["links"], member.name, "hard " + member.linkname + " " + sha256(content.read()))
            elif member.issym():
                add(reading["links"], member.name, "symbolic " + member.linkname)
            elif member.isreg() and member.sparse is None:
                add(reading["files"], member.name, sha256(archive.extractfile(member).read()))
            else:
                add(reading["files"], member.name, "special")


def read(data):
    reading = {"files": {}, "directories": {}, "links": {}}
    try:
        (read_zip if data[:2] == b"PK" else read_tar)(data, reading)
    except Exception as error:  # Whatever it is that Python refuses is part of its reading.
        return {"error": repr(error)}
    for place in ("directories", "files"):
        # Python strips the one name that means the root in several ways.
        for root in ("", "."):
            reading[place].pop(root, None)
    return reading


while True:
    prefix = sys.stdin.buffer.read(4)
    if len(prefix) < 4:
        break
    (length,) = struct.unpack("<I", prefix)
    print(json.dumps(read(sys.stdin.buffer.read(length))), flush=True)
