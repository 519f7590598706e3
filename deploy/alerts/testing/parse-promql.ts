/** What the rules use of PromQL. */
export type Expression =
  | { kind: 'number'; value: number }
  | { kind: 'selector'; selector: Selector }
  | { kind: 'call'; name: string; args: Expression[] }
  | { kind: 'aggregate'; name: string; by: string[]; of: Expression }
  | { kind: 'binary'; operator: string; left: Expression; right: Expression; matching: Matching };

export interface Selector {
  metric: string;
  matchers: { label: string; operator: string; value: string }[];
  /** s; 0 without them */
  range: number;
  offset: number;
}

export interface Matching {
  /** undefined: all labels of both sides */
  on: string[] | undefined;
  /** The left side may have several elements for one of the right. */
  isManyToOne: boolean;
}

const TOKEN =
  /\s*(?:(\d+(?:\.\d+)?(?:e\d+)?(?![\w.]))|(\d+[smhd])\b|([a-zA-Z_:][\w:]*)|("[^"]*")|(=~|!~|!=|==|>=|<=|[-+*/<>=(){}[\],]))/y;
const AGGREGATES = new Set(['sum', 'min', 'max']);
const LEVELS = [
  ['or'],
  ['and', 'unless'],
  ['==', '!=', '>', '<', '>=', '<='],
  ['+', '-'],
  ['*', '/'],
];
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Throws where the text is not what the rules may use. */
export function parsePromql(text: string): Expression {
  const tokens = tokensOf(text);
  let at = 0;
  const peek = () => tokens[at] ?? '';
  const next = () => tokens[at++] ?? '';
  const expect = (token: string) => {
    if (next() !== token) throw new Error(`${text}: expected ${token} before ${peek()}`);
  };
  const list = (): string[] => {
    const names: string[] = [];
    expect('(');
    while (peek() !== ')') {
      names.push(next());
      if (peek() === ',') next();
    }
    expect(')');
    return names;
  };
  const duration = () => {
    const token = next();
    const seconds = Number.parseInt(token, 10) * (SECONDS[token.at(-1) ?? ''] ?? Number.NaN);
    if (Number.isNaN(seconds)) throw new Error(`${text}: ${token} is no duration`);
    return seconds;
  };
  const matchingOf = (): Matching => {
    const matching: Matching = { on: undefined, isManyToOne: false };
    if (peek() === 'on') {
      next();
      matching.on = list();
    }
    if (peek() === 'group_left') {
      next();
      if (peek() === '(' && tokens[at + 1] === ')') list();
      matching.isManyToOne = true;
    }
    return matching;
  };
  const selector = (metric: string): Expression => {
    const of: Selector = { metric, matchers: [], range: 0, offset: 0 };
    if (peek() === '{') {
      next();
      while (peek() !== '}') {
        const [label, operator, value] = [next(), next(), next()];
        of.matchers.push({ label, operator, value: value.slice(1, -1) });
        if (peek() === ',') next();
      }
      next();
    }
    if (peek() === '[') {
      next();
      of.range = duration();
      expect(']');
    }
    if (peek() === 'offset') {
      next();
      of.offset = duration();
    }
    return { kind: 'selector', selector: of };
  };
  const primary = (): Expression => {
    const token = next();
    if (token === '(') {
      const inner = binary(0);
      expect(')');
      return inner;
    }
    if (/^\d/.test(token)) return { kind: 'number', value: Number(token) };
    if (!/^[a-zA-Z_:]/.test(token)) throw new Error(`${text}: ${token} is unexpected`);
    if (AGGREGATES.has(token)) {
      const by = peek() === 'by' && next() ? list() : [];
      expect('(');
      const of = binary(0);
      expect(')');
      return { kind: 'aggregate', name: token, by, of };
    }
    if (peek() !== '(') return selector(token);
    next();
    const args: Expression[] = [];
    while (peek() !== ')') {
      args.push(binary(0));
      if (peek() === ',') next();
    }
    next();
    return { kind: 'call', name: token, args };
  };
  const binary = (level: number): Expression => {
    const operators = LEVELS[level];
    if (!operators) return primary();
    let left = binary(level + 1);
    while (operators.includes(peek())) {
      const operator = next();
      const matching = matchingOf();
      left = { kind: 'binary', operator, left, right: binary(level + 1), matching };
    }
    return left;
  };
  const expression = binary(0);
  if (at < tokens.length) throw new Error(`${text}: ${peek()} is unexpected`);
  return expression;
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  const end = text.trimEnd().length;
  while (TOKEN.lastIndex < end) {
    const from = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    const token = found?.slice(1).find(Boolean);
    if (token === undefined)
      throw new Error(`${text}: ${text.slice(from, from + 20)} is unexpected`);
    tokens.push(token);
  }
  return tokens;
}
