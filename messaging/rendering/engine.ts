import {
  CaptureTag,
  CycleTag,
  Drop,
  EchoTag,
  Liquid,
  toValue,
  type Context,
  type Emitter,
  type LiquidOptions,
} from 'liquidjs';
import { FILTERS, TAGS } from './allowed-liquid.ts';
import { jalaliFilter } from './jalali-filter.ts';
import { MAX_CAPTURED_CHARACTERS } from './limits.ts';
import { escapeHtml, textOf } from './output-text.ts';
import { SafeContext } from './safe-context.ts';

/** What a part is: values are escaped in HTML, and stay as they are in text. */
export type OutputKind = 'html' | 'text';

/** HTML that the template itself made, its values escaped: it is not escaped again. */
class MadeHtml extends Drop {
  readonly #html: string;

  constructor(html: string) {
    super();
    this.#html = html;
  }

  override valueOf(): string {
    return this.#html;
  }

  override toString(): string {
    return this.#html;
  }
}

/** What every output runs through as its last filter; `this` is that of a filter of liquidjs. */
function outputOf(kind: OutputKind) {
  return function (this: { context: Context }, value: unknown): string {
    const isMade = value instanceof MadeHtml;
    const text = textOf(toValue(value));
    if (this.context instanceof SafeContext) this.context.endOutput(text === '');
    return kind === 'html' && !isMade ? escapeHtml(text) : text;
  };
}

/** `{% echo x %}` is `{{ x }}`. */
class SafeEcho extends EchoTag {
  override *render(context: Context, emitter: Emitter) {
    if (context instanceof SafeContext) context.beginOutput();
    yield* super.render(context, emitter);
  }
}

class SafeCycle extends CycleTag {
  override *render(context: Context, emitter: Emitter) {
    if (context instanceof SafeContext) context.beginOutput();
    return yield* super.render(context, emitter);
  }
}

/** Captured text is bounded, and HTML that was captured is not escaped again. */
function captureTag(kind: OutputKind): typeof CaptureTag {
  return class SafeCapture extends CaptureTag {
    override *render(context: Context) {
      yield* super.render(context);
      const scope = context.bottom() as Record<string, unknown>;
      const captured = textOf(scope[this.variable]);
      if (captured.length > MAX_CAPTURED_CHARACTERS)
        throw new Error(
          `it captures more than ${MAX_CAPTURED_CHARACTERS} characters: capture less`,
        );
      scope[this.variable] = kind === 'html' ? new MadeHtml(captured) : captured;
    }
  };
}

const OPTIONS: LiquidOptions = {
  ownPropertyOnly: true,
  strictFilters: true,
  timezoneOffset: 'Asia/Tehran',
  locale: 'en-US',
  // No template is read by name, whatever a tag asks for.
  templates: {},
  relativeReference: false,
  dynamicPartials: false,
};

function newEngine(kind: OutputKind): Liquid {
  const engine = new Liquid({ ...OPTIONS, outputEscape: outputOf(kind) });
  for (const name of Object.keys(engine.filters))
    if (!FILTERS.has(name)) engine.unregisterFilter(name);
  for (const name of Object.keys(engine.tags))
    if (!TAGS.has(name)) Reflect.deleteProperty(engine.tags, name);
  engine.registerTag('capture', captureTag(kind));
  engine.registerTag('echo', SafeEcho);
  engine.registerTag('cycle', SafeCycle);
  engine.registerFilter('url_encode', function (value: unknown) {
    return encodeURIComponent(charged(this.context, textOf(value)).toWellFormed());
  });
  engine.registerFilter('jalali', function (value: unknown, format?: unknown) {
    // The longest that a directive becomes.
    this.context.memoryLimit.use(textOf(format).length * 4);
    return jalaliFilter(value, format, Date.now());
  });
  engine.registerFilter('newline_to_br', function (value: unknown) {
    const text = charged(this.context, textOf(value));
    return kind === 'html' ? new MadeHtml(lines(escapeHtml(text))) : text;
  });
  if (kind === 'text') Reflect.deleteProperty(engine.tags, 'tablerow');
  return engine;
}

/** Text that a filter makes another of, counted. */
function charged(context: Context, text: string): string {
  context.memoryLimit.use(text.length);
  return text;
}

function lines(html: string): string {
  return html.replace(/\r?\n/g, '<br>\n');
}

/** One engine for each kind of output: what is escaped is decided when a template is parsed. */
export const ENGINES: Readonly<Record<OutputKind, Liquid>> = {
  html: newEngine('html'),
  text: newEngine('text'),
};
