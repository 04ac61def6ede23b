"""What counts as layout only. A wrong yes hides drift, so most of these tests say no."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decapod_py.domain.layout import same_but_for_layout
from decapod_py.domain.symbols import names_in, table_of

RUFF = Path(sys.executable).parent / "ruff"
DOMAIN = Path(__file__).parents[2] / "decapod_py" / "domain"


def formatted(source: str, line_length: int) -> str:
    command = [RUFF, "format", "--isolated", "--line-length", str(line_length), "--stdin-filename", "a.py", "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True, encoding="utf-8").stdout


SNIPPETS = {
    "a long call": "result = some_function(argument_one, argument_two='x', *rest, **{'key': value})  # why\n",
    "a def": "def f(self, a, b: int=3, *args: str, key: 'X'=None, **kw) -> dict[str, int]: return {'a': 1, \"b\": 2}\n",
    "a chain": "x = session.query(User).filter(User.name == 'a', User.age > 3).order_by(User.name).limit(10).all()\n",
    "a condition": "if (a_long_name and another_long_name) or not (third_long_name and fourth_long_name): pass\n",
    "backslashes": "assert first_long_condition and \\\n    second_long_condition, \\\n    'message of it'\n",
    "a docstring": "class A():\n\n  '''  Says what it is.\n\n      Indented more.\n    Less.   '''\n  x=1\n",
    "strings": "x = ['it\\'s', 'say \"hi\"', u'old', R'raw\\d', F'{x!r:>{width}}', b'bytes', 'a' 'b']\n",
    "numbers": "x = [0XFF, 1E5, 10 if 0 else 3J, 0B11, 1_000, .5, 5.]\n",
    "comments": "#first\nx = [  # opening\n  1, 2, #two\n  3\n  # last\n]\n#: documented\ny = 1;z = 2 # both\n",
    "slices": "x = ham[lower+offset : upper+offset], ham[1: 9], ham[lower : upper : step], ham[a,b]\n",
    "lambdas": "f = lambda x, *y: (x, y)\nkey = sorted(things, key=lambda thing: thing.attribute_with_long_name[0])\n",
    "a comprehension": "x = {k: v for k, v in some_mapping.items() if k is not None if v not in excluded_values}\n",
    "with": "with open('a') as first_file, open('b') as second_file, open('c') as third_file: work(first_file)\n",
    "del and return": "def f():\n  del (a, b), (c)\n  return (not x)\n",
    "imports": "from module_with_long_name import first_name, second_name, third_name as other, fourth_name\n",
    "match": "match x:\n  case {'a': 1, **rest} if rest: pass\n  case [1, *_] | (2, _): pass\n  case A(x=1,): pass\n",
    "a tuple": "x = 1,\nfor (a, b) in (c, d): print(a, end='')\nreturn_value = yield_(1,)\n",
    "tabs": "def f():\n\tif x:\n\t\treturn 1\n\treturn 2\n",
    "an f-string": "x = f'{a[\"k\"]} and {b:>10} and {c!r} and a long tail to make it wrap over the line {d}'\n",
    "a ternary": "value = first_alternative(argument) if some_condition(argument) else second_alternative(argument)\n",
    "decorators": "@ decorated( 1,2 )\n@other\nasync  def f( a,/,b,*,c ): await  g( a )\n",
    "a walrus": "while (chunk:=file.read(8192)): process(chunk,[i for i in chunk if (y:=i)])\n",
    "try": "try: risky( )\nexcept (ValueError,TypeError) as problem: raise   Other(problem)from problem\nelse: x=1\n",
    "a global": "def f():\n  global a,b\n  a=b=c=1\n  a+=1;b-=1\n",
    "power": "x = a**-b + c**f(x) - -1 + ~y @ z // 2 << 3\n",
    "a type": "x : dict[ str,list[int] ]={}\ndef g(a:int|None=None,*,b:\"X\"='y')->None:...\n",
}


@pytest.mark.parametrize("line_length", [60, 88, 120])
@pytest.mark.parametrize("snippet", SNIPPETS)
def test_what_a_real_formatter_does_to_python_is_layout(snippet, line_length):
    source = SNIPPETS[snippet]
    assert same_but_for_layout("a.py", source, formatted(source, line_length))


def test_what_was_indented_as_a_whole_and_formatted_is_layout():
    then = "def f(a,b = 'x'):\n    if a:\n        g(b)  # why\n    return 0x1F\n"
    indented = "".join(f"        {line}\n" for line in formatted(then, 40).splitlines())
    assert same_but_for_layout("a.py", then, indented)
    assert same_but_for_layout("a.py", indented, then)
    assert not same_but_for_layout("a.py", then, "    if 1:\n" + indented)
    assert not same_but_for_layout("a.py", then, indented.replace("            return", "        return"))


def test_every_symbol_of_real_modules_survives_a_narrow_formatter():
    for name in ("anchors.py", "layout_python.py", "drift.py", "words.py"):
        source = (DOMAIN / name).read_text()
        narrow = formatted(source, 60)
        then, now = table_of("a.py", source), table_of("a.py", narrow)
        for symbol in names_in("a.py", source):
            before, after = lines(source, then.find(symbol)), lines(narrow, now.find(symbol))
            assert same_but_for_layout("a.py", before, after), (name, symbol)


def lines(text: str, span: tuple[int, int]) -> str:
    return "\n".join(text.split("\n")[span[0] - 1 : span[1]])


PYTHON_SAME = [
    ("x = (a)\n", "x = a\n"),
    ("        return f(a,\n                 b)\n", "    return f(\n        a,\n        b,\n    )\n"),
    ("def f(a, b):", "def f(\n    a,\n    b,\n):"),
    ("    else:\n        x = 'a'", '    else:\n        x = "a"'),
    ("except (A, B):\n    pass", "except (\n    A,\n    B,\n):\n    pass"),
    ("call(a, 'b',\n", 'call(\n    a,\n    "b",\n'),  # ends inside of a call
    ("     a, b,\n     c='d')\nx = 1", '    a,\n    b,\n    c="d",\n)\nx = 1'),  # begins inside of one
    ("tail of a docstring.\n    '''\n    x = 'a'", 'tail of a docstring.\n    """\n    x = "a"'),
    ("    x = 'a'\n    '''Begins here,", '    x = "a"\n    """Begins here,'),
    ("        a = 'b'\n    c = d\n", '        a = "b"\n    c = d\n'),
    ("#comment\nx=1", "# comment\nx = 1"),
    ("if x: return 1 # one\n#two\ny", "if x:\n    return 1  # one\n# two\ny"),
]


@pytest.mark.parametrize(("then", "now"), PYTHON_SAME)
def test_pieces_of_python_are_the_same_however_they_are_cut_out(then, now):
    assert same_but_for_layout("a.py", then, now)
    assert same_but_for_layout("a.py", now, then)


PYTHON_OTHER = {
    "a one-tuple": ("x = (a)", "x = (a,)"),
    "a one-tuple without parentheses": ("x = a", "x = a,"),
    "a tuple as a subscript": ("x[a]", "x[a,]"),
    "a one-tuple in a range that is cut": ("    f(x, (a)", "    f(x, (a,)"),
    "a subscript in a range that is cut": ("    f(x, y[a]", "    f(x, y[a,]"),
    "a last comma in a range that is cut": ("    f(x, y", "    f(x, y,"),
    "one comma before an unseen bracket": ("    a)\nx", "    a,)\nx"),
    "a dedented statement": ("if a:\n    b()\n    c()", "if a:\n    b()\nc()"),
    "a dedented statement in a range that is cut": ("else:\n    b(\n    )\n    c(", "else:\n    b(\n    )\nc("),
    "a statement that left its block": ("        a()\nb()", "    a()\nb()"),
    "a statement that left its block in a cut range": ("        a()\nb(", "    a()\nb("),
    "an argument and two": ("    (a, b)", "    a, b"),
    "a comma without which a string runs into the next": ("    'a', 'b',", "    'a', 'b'"),
    "precedence of a line out of an expression": ("    (a + b)", "    a + b"),
    "another comment": ("x = 1  # one", "x = 1  # two"),
    "a comment less": ("x = 1  # one", "x = 1"),
    "a comment of another statement": ("x = 1  # one\ny = 2", "x = 1\ny = 2  # one"),
    "another number": ("x = 0xff", "x = 255"),
    "another word": ("return a", "return b"),
    "another string": ("x = 'a b'", "x = 'a  b'"),
    "a string's line": ("x = '''\n  a\n'''", "x = '''\n    a\n'''\n"),
    "bytes": ("x = 'a'", "x = b'a'"),
    "an f-string": ("x = 'a{b}'", "x = f'a{b}'"),
    "a docstring's words": ('def f():\n    """Says a."""', 'def f():\n    """Says b."""'),
    "a docstring's inner indentation": ('"""A\n\n    b\n      c\n"""', '"""A\n\n    b\n    c\n"""'),
    "an operator": ("x = a < b", "x = a <= b"),
    "precedence": ("x = (a + b) * c", "x = a + b * c"),
    "a negation": ("x = not a in b", "x = a not in b"),
    "an order": ("f(a=1, b=2)", "f(b=2, a=1)"),
    "an added pass": ("def f():\n    x()", "def f():\n    x()\n    pass"),
    "a range that ends inside a string": ("x = 'abc", "x = 'abd"),
    "an import": ("from a import b", "from a import b, c"),
    "nothing left": ("x = 1", ""),
    "only a comment left": ("x = 1", "# x = 1"),
    "tabs in a string": ("x = 'a\tb'", "x =  'a       b'"),
    "prefix operator": ("x = a - -b", "x = a--+b"),
    "broken call": ("foo (\n", "foo [\n"),
}


@pytest.mark.parametrize("case", PYTHON_OTHER)
def test_python_that_means_something_else_is_no_layout(case):
    then, now = PYTHON_OTHER[case]
    assert not same_but_for_layout("a.py", then, now)
    assert not same_but_for_layout("a.py", now, then)


SAME = [
    ("js", "const a = {b: 'c', d};", 'const a = {\n  b: "c",\n  d,\n};'),
    ("ts", "f(a,b)\n  .then(x=>x+1)", "f(\n  a,\n  b,\n).then((x)=>x+1)".replace("(x)=>", "x=>")),
    ("js", "'it\\'s'", '"it\'s"'),
    ("js", "// a  comment\nx", "//a comment\nx"),
    ("js", "/* a\n * b\n */ x", "/*\n   a b */\nx"),
    ("js", "if(a){b()}else{c()}", "if (a) {\n  b()\n} else {\n  c()\n}"),
    ("js", "x = [1, // one\n 2 // two\n]", "x = [\n  1, // one\n  2, // two\n]"),
    ("js", "x = /a b/ .test(y)", "x = /a b/.test(y)"),
    ("tsx", "<A b={1} c='d'>text</A>", '<A\n  b={1}\n  c="d"\n>\n  text\n</A>'),
    ("java", 'void f( int a ){ g("x") ; }', 'void f(int a) {\n    g("x");\n}'),
    ("c", "#define A  1\nint f(int a){return a;}", "#define A 1\nint f(int a) {\n  return a;\n}"),
    ("cpp", 'auto s=R"x(a  b)x";int n{1,};', 'auto s = R"x(a  b)x";\nint n{1};'),
    ("cs", 'var a=new[]{1,2,};var s=@"x ""y""";', 'var a = new[] { 1, 2 };\nvar s = @"x ""y""";'),
    (
        "go",
        "func f(a int,b string) int {\nx:=g(a,b)\nreturn x\n}",
        "func f(a int, b string) int {\n\tx := g(\n\t\ta,\n\t\tb,\n\t)\n\treturn x\n}",
    ),
    (
        "rs",
        "fn f<'a>(x:&'a str,y:char)->u8{g(x,'y',)}",
        "fn f<'a>(\n    x: &'a str,\n    y: char,\n) -> u8 {\n    g(x, 'y')\n}",
    ),
    ("swift", "let a=f( x,y )\nlet b = [1,2]", "let a=f(x, y)\nlet b = [\n  1,\n  2,\n]"),
    (
        "kt",
        "fun f(a:Int,b:Int):Int{\nreturn g(a,b)\n}",
        "fun f(\n    a: Int,\n    b: Int,\n): Int {\n    return g(a, b)\n}",
    ),
    ("php", "<?php\n$a=['x'=>1,'y'=>2];", "<?php\n$a = [\n    'x' => 1,\n    'y' => 2,\n];"),
    ("css", "a>b,c .d{color:red;margin:0 1px}", "a > b,\nc .d {\n  color: red;\n  margin: 0 1px\n}"),
    ("scss", "$a:'x'; .b{&:hover{color:$a;}}", '$a: "x";\n.b {\n  &:hover {\n    color: $a;\n  }\n}'),
    ("less", "@a:1px;.b{.c;}", "@a: 1px;\n.b {\n  .c;\n}"),
    ("json", '{"a":[1,2],"b":"c  d"}', '{\n  "a": [1, 2],\n  "b": "c  d"\n}'),
    ("jsonc", '{"a": 1} // x', '{\n  "a": 1,\n}\n// x'),
    ("json5", "{a: 'b'}", '{a: "b",}'),
    ("proto", "message A{string b=1;}", "message A {\n  string b = 1;\n}"),
    ("dart", "f(a,b);", "f(\n  a,\n  b,\n);"),
    ("sql", "SELECT a,b FROM t WHERE c='x  y' -- why", "SELECT a, b\nFROM t\nWHERE c = 'x  y' -- why"),
    (
        "md",
        "Some words that are\nwrapped at this width here.\n",
        "Some words that\nare wrapped at this\nwidth here.\n".replace("\nare", " are"),
    ),
    ("md", "- an item of several words\n  that goes on\n- two", "- an item of several words that goes on\n- two"),
    ("md", "| a | b |\n|---|:-:|\n| c | d |", "| a   | b   |\n| --- | :-: |\n| c   | d   |"),
    ("rst", "Title\n=====\n\nSome words that are wrapped\nhere.", "Title\n=====\n\nSome words that are\nwrapped here."),
    ("txt", "Some words that are wrapped\nright here.", "Some words that are\nwrapped right here."),
]


@pytest.mark.parametrize(("kind", "then", "now"), SAME)
def test_layout_of_other_languages(kind, then, now):
    assert same_but_for_layout(f"a.{kind}", then, now)
    assert same_but_for_layout(f"a.{kind}", now, then)


OTHER = [
    ("js", "a b", "ab"),
    ("js", "a - -b", "a--b"),
    ("js", "return\nx", "return x"),
    ("js", "throw /* c */\nx", "throw /* c */ x"),
    ("js", "a\n++b", "a++\nb"),
    ("js", "x = [,]", "x = []"),
    ("js", "x = [a,,]", "x = [a,]"),
    ("js", "`a  b`", "`a b`"),
    ("js", "`a${b ? `x  y` : ''}`", "`a${b ? `x y` : ''}`"),
    ("js", "'a  b'", "'a b'"),
    ("js", "x = /a  b/", "x = /a b/"),
    ("js", "f(x) && /a  'b/.test(c)", "f(x) && /a 'b/.test(c)"),
    ("js", "x = 'a' // b", "x = 'a' // c"),
    ("js", "(a + b) * c", "a + b * c"),
    ("js", "'\\n'", "'n'"),
    ("js", "a() /* it's", "a()  /* it's"),
    ("js", "1 .x", "1.5"),
    ("jsx", "<b>a</b> <i>c</i>", "<b>a</b>\n<i>c</i>"),
    ("jsx", "<p>{a} b</p>", "<p>{a}b</p>"),
    ("jsx", "<p>Don't  go</p>", "<p>Don't go</p>"),
    ("c", "char c = 'a';", 'char c = "a";'),
    ("c", "#define F (x)", "#define F(x)"),
    ("c", "#define A 1\nint b;", "#define A 1 int b;"),
    ("c", "M(a,)", "M(a)"),
    ("cpp", 'R"(a  b)"', 'R"(a b)"'),
    ("java", 'x = """\n  a\n   b""";', 'x = """\n  a\n  b""";'),
    ("cs", '@"a  b"', '@"a b"'),
    ("go", "return\nx", "return x"),
    ("go", "x := a\n-b", "x := a - b"),
    ("go", "`a  b`", "`a b`"),
    ("rs", "let x = (a,);", "let x = (a);"),
    ("rs", "return (a,)", "return (a)"),
    ("rs", "    a,)", "    a)"),
    ("rs", "'a", "'a'"),
    ("rs", 'r#"a  b"#', 'r#"a b"#'),
    ("rs", '"a  b"', '"a b"'),
    ("swift", "a\n-b", "a - b"),
    ("swift", "a +- b", "a + -b"),
    ("kt", "val x = a\n- b", "val x = a - b"),
    ("kt", "return\nx", "return x"),
    ("php", "$a = 'x';", '$a = "x";'),
    ("php", "?> a  b", "?> a b"),
    ("php", "<<<EOT\na  b\nEOT;", "<<<EOT\na b\nEOT;"),
    ("css", ".a .b {}", ".a.b {}"),
    ("css", "a :hover {}", "a:hover {}"),
    ("css", "a{width:calc(1px + 2px);}", "a{width:calc(1px+2px);}"),
    ("css", "a{margin:1px -2px;}", "a{margin:1px-2px;}"),
    ("css", "a{b:url(x y);}", "a{b:url(xy);}"),
    ("json", '{"a": "b c"}', '{"a": "b  c"}'),
    ("json", "[1, 2]", "[12]"),
    ("json", "[1]", "[1,]"),
    ("sql", "'a' 'b'", "'a''b'"),
    ("sql", "a -- b\nc", "a -- b c"),
    ("sql", "a # b\nc", "a # b c"),
    ("dart", "x = (a,);", "x = (a);"),
    ("md", "# Title\n\nSome words follow here.", "# Title Some words follow here."),
    ("md", "One paragraph of words.\n\nAnother one of words.", "One paragraph of words. Another one of words."),
    ("md", "- one of the items\n- two", "- one of the items - two"),
    ("md", "- one\n  - two", "- one\n- two"),
    ("md", "```\na b\nc\n```", "```\na b c\n```"),
    ("md", "```\na\n```", "```\na"),
    ("md", "| a | b |\n| c | d |", "| a | b | c | d |"),
    ("md", "Words that are a heading\n---\nx", "Words that are a heading --- x"),
    ("md", "npm install\nnpm test\n", "npm install npm test\n"),
    ("md", "key: some value of words\nother: value", "key: some value of words other: value"),
    ("md", "<pre>\na b c d e\nf</pre>", "<pre>\na b c d e f</pre>"),
    ("md", "A word and other words", "A word and others words"),
    ("rst", "term of four words\n    definition", "term of four words definition"),
    ("rst", "Some words of text::\n\n    a b c d e\n    f", "Some words of text::\n\n    a b c d e f"),
    ("rst", "    a b c d e\n    f", "    a b c d e f"),
    ("txt", "alpha\nbeta", "alpha beta"),
    ("yaml", "a:  b", "a: b"),
    ("yaml", "a: 'b'", 'a: "b"'),
    ("toml", "a=1", "a = 1"),
    ("ini", "a=1", "a = 1"),
    ("sh", "echo a  b", "echo a b"),
    ("mk", "a:\n\tb", "a: b"),
    ("unknown", "a  b", "a b"),
    ("html", "<b>a</b> c", "<b>a</b>\nc"),
    ("scala", "if a then\n  b\n  c", "if a then\n  b\nc"),
]


@pytest.mark.parametrize(("kind", "then", "now"), OTHER)
def test_what_is_more_than_layout_in_other_languages(kind, then, now):
    assert not same_but_for_layout(f"a.{kind}", then, now)
    assert not same_but_for_layout(f"a.{kind}", now, then)


def test_a_list_in_a_text_file_is_no_prose():
    assert not same_but_for_layout("requirements.txt", "a b c d e\nf g", "a b c d e f\ng")
    assert not same_but_for_layout("CMakeLists.txt", "a b c d e\nf g", "a b c d e f\ng")


@pytest.mark.parametrize("path", ["a.py", "Makefile", "a.yaml", "", "a.unknown"])
def test_line_ends_trailing_blanks_and_empty_lines_are_layout_everywhere(path):
    assert same_but_for_layout(path, "  a:\r\n\n    b  \n", "a:\n  b")


@pytest.mark.skipif(not shutil.which("rustfmt"), reason="rustfmt is not installed")
def test_what_rustfmt_does_is_layout(tmp_path):
    source = (
        "use std::fmt;\npub fn f<'a,T:fmt::Debug>(x:&'a [T],y:(u8,),)->Vec<&'a T>{\n"
        "let z=match y{(0,)=>'a',(n,)if n>3=>'b', _=>'c',}; // why\n"
        'println!("{:?} {}  {}",z,y.0,r#"raw  "text""#);\n'
        'x.iter().filter(|t|format!("{t:?}").len()>10).take(3).collect()}\n'
    )
    file = tmp_path / "a.rs"
    file.write_text(source)
    if subprocess.run(["rustfmt", "--edition", "2021", file], capture_output=True).returncode:
        pytest.skip("rustfmt does not run here")
    assert file.read_text() != source
    assert same_but_for_layout("a.rs", source, file.read_text())


SIGNS = '( ) [ ] { } , : ; \' " # // /* */ - -- + = ` \\ | < > / . """ a b 1 é return if else def lambda'
PIECES = st.sampled_from([*SIGNS.split(), " ", "  ", "\n", "\n    ", "\t", "\0"])
KINDS = st.sampled_from(
    ["py", "js", "tsx", "c", "rs", "go", "css", "sql", "php", "md", "rst", "txt", "kt", "json", "sh"]
)


@given(KINDS, st.lists(PIECES, max_size=30).map("".join), st.lists(PIECES, max_size=30).map("".join))
@settings(max_examples=500)
def test_any_two_texts_are_compared_and_what_is_called_the_same_has_the_same_words(kind, then, now):
    if same_but_for_layout(f"a.{kind}", then, now):
        assert words(then) == words(now)


def words(text: str) -> list[str]:
    return "".join(character if character.isalnum() else " " for character in text).split()


@given(KINDS, st.lists(PIECES, max_size=30).map("".join))
def test_the_same_text_twice_is_always_the_same(kind, text):
    assert same_but_for_layout(f"a.{kind}", text, text)
