const DOCSTRING = /^[ \t]*\/\*\*(?=\s)([^]*?)\*\//gm;
const BAD_START = /^(?:That of|What|Who|Whoever|Whether|How|Of|Where|Those|If|When)\b/i;
const SHOWN_CHARACTERS = 60;

/** Lists the docstrings of a source file that begin with a question word, preposition or condition, as `line: beginning`. */
export function findProseFaults(source: string): readonly string[] {
  return [...source.matchAll(DOCSTRING)].flatMap(({ 0: whole, 1: content = "", index }) => {
    const text = content
      .replaceAll(/\n[ \t]*\*/g, " ")
      .replaceAll(/\s+/g, " ")
      .trim();
    if (!BAD_START.test(text)) return [];
    const line = source.slice(0, index + whole.indexOf("/**")).split("\n").length;
    return [`${line}: ${text.slice(0, SHOWN_CHARACTERS)}`];
  });
}
