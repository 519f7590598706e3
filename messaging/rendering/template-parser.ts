import {
  Output,
  ParseError,
  Parser,
  TypeGuards,
  type Context,
  type Emitter,
  type Liquid,
  type Token,
  type TopLevelToken,
} from 'liquidjs';
import { MAX_DEPTH } from './limits.ts';
import { SafeContext } from './safe-context.ts';

/** Parses one part; missing variables of its outputs are noted. */
export class TemplateParser extends Parser {
  readonly #engine: Liquid;
  #depth = 0;

  constructor(engine: Liquid) {
    super(engine);
    this.#engine = engine;
  }

  override parseToken(
    token: TopLevelToken,
    rest: TopLevelToken[],
  ): ReturnType<Parser['parseToken']> {
    if (this.#depth >= MAX_DEPTH)
      throw new ParseError(
        new Error(`tags are nested deeper than ${MAX_DEPTH} levels: nest less`),
        token,
      );
    this.#depth++;
    try {
      const node = super.parseToken(token, rest);
      if (!(node instanceof Output)) return node;
      checkExpression(node);
      return new NotedOutput(node.token, this.#engine);
    } finally {
      this.#depth--;
    }
  }
}

class NotedOutput extends Output {
  override render(context: Context, emitter: Emitter): IterableIterator<unknown> {
    if (context instanceof SafeContext) context.beginOutput();
    return super.render(context, emitter);
  }
}

/** liquidjs ignores all but the first of two values: `{{ user.first name }}` is a mistake. */
function checkExpression({ token, value }: Output): void {
  let values = 0;
  for (const part of value.initial.postfix) {
    if (!TypeGuards.isOperatorToken(part)) values++;
    else if (part.operator !== 'not') values--;
  }
  if (values === 1) return;
  const text = value.initial.postfix.map((part: Token) => part.getText()).join(' ');
  throw new ParseError(
    new Error(
      `"${text}" is more than one value: join them with "|" and a filter, or write two outputs`,
    ),
    token,
  );
}
