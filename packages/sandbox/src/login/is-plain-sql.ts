/**
 * Returns true if a `CREATE` statement defines a table or an index by names, types and keys only. `false` for anything that SQLite would
 * evaluate, such as a default, a check, a generated column or an index on an expression.
 */
export function isPlainSql(sql: string): boolean {
  if (sql.length > LONGEST) return false;
  const dense = sql.replaceAll(/\s+/g, " ").replaceAll(/ ?([(),]) ?/g, "$1");
  return PLAIN.test(dense);
}

// Kiro's longest statement has a few hundred characters.
const LONGEST = 10_000;
const NAME = String.raw`(?:\w+|"\w+")`;
const TYPE = "(?:INTEGER|INT|BIGINT|TEXT|BLOB|REAL|NUMERIC|BOOLEAN|DATETIME|TIMESTAMP)";
const COLUMN = `${NAME}(?: ${TYPE})?(?: (?:NOT NULL|PRIMARY KEY|UNIQUE))*`;
const KEY = String.raw`(?:PRIMARY KEY|UNIQUE)\(${NAME}(?:,${NAME})*\)`;
const PART = `(?:${COLUMN}|${KEY})`;
const ORDERED = `${NAME}(?: (?:ASC|DESC))?`;
// Built from constants only, and matched against a text of bounded length.
// oxlint-disable-next-line budgie/linear-expressions
const PLAIN = new RegExp(
  String.raw`^CREATE (?:TABLE ${NAME}\(${PART}(?:,${PART})*\)|(?:UNIQUE )?INDEX ${NAME} ON ${NAME}\(${ORDERED}(?:,${ORDERED})*\))$`,
  "i",
);
