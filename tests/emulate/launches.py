"""Rewrite CUDA C++ for a C++ compiler: launches of kernels, and shared memory of a launch's size.

kernel<T><<<grid, block, bytes, stream>>>(a, b);  becomes a call of emulated_launch with a lambda.
"""
import re
import sys


def closing(text, at, opens, closes):
    """The place behind the bracket that closes the one at `at`."""
    depth = 0
    while True:
        if text[at] == opens:
            depth += 1
        elif text[at] == closes:
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1


def kernel_begin(text, end):
    """The place where the kernel's name, with its template arguments, begins."""
    at = end
    while text[at - 1].isspace():
        at -= 1
    if text[at - 1] == '>':
        depth = 0
        while True:
            at -= 1
            if text[at] == '>':
                depth += 1
            elif text[at] == '<':
                depth -= 1
                if depth == 0:
                    break
    while text[at - 1].isalnum() or text[at - 1] in '_:':
        at -= 1
    return at


def rewrite(text):
    out = ''
    while '<<<' in text:
        mark = text.index('<<<')
        begin = kernel_begin(text, mark)
        end = text.index('>>>', mark)
        call = text.index('(', end)
        behind = closing(text, call, '(', ')')
        name = text[begin:mark].strip()
        out += text[:begin]
        out += 'emulated_launch(%s, [=]() { %s%s; })' % (text[mark + 3:end], name, text[call:behind])
        text = text[behind:]
    text = out + text
    return re.sub(r'extern __shared__ (?:__align__\(\d+\) )?([a-z0-9 ]+?) (\w+)\[\];',
                  r'\1 *const \2 = reinterpret_cast<\1 *>(emulated_shared());', text)


path = sys.argv[1]
print('#line 1 "%s"' % path)
print(rewrite(open(path).read()), end='')
