/**
 * Whether a `CREATE` statement makes a table or an index out of nothing but names, types and keys. Anything that SQLite would
 * evaluate (a default, a check, a generated column, an index on an expression) and anything else makes it none.
 */
export function isPlainSql(sql: string): boolean {
  if (sql.length > LONGEST) return false;
  const dense = sql.replaceAll(/\s+/g, " ").replaceAll(/ ?([(),]) ?/g, "$1");
  return PLAIN.test(dense);
}

// Kiro's longest has a few hundred characters.
const LONGEST = 10_000;
const NAME = String.raw`(?:\w+|"\w+")`;
const TYPE = "(?:INTEGER|INT|BIGINT|TEXT|BLOB|REAL|NUMERIC|BOOLEAN|DATETIME|TIMESTAMP)";
const COLUMN = `${NAME}(?: ${TYPE})?(?: (?:NOT NULL|PRIMARY KEY|UNIQUE))*`;
const KEY = String.raw`(?:PRIMARY KEY|UNIQUE)\(${NAME}(?:,${NAME})*\)`;
const PART = `(?:${COLUMN}|${KEY})`;
const ORDERED = `${NAME}(?: (?:ASC|DESC))?`;
// Put together of constants alone, and matched against a bounded text.
// oxlint-disable-next-line budgie/linear-expressions
const PLAIN = new RegExp(
  String.raw`^CREATE (?:TABLE ${NAME}\(${PART}(?:,${PART})*\)|(?:UNIQUE )?INDEX ${NAME} ON ${NAME}\(${ORDERED}(?:,${ORDERED})*\))$`,
  "i",
);
