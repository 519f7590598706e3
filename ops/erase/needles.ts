import { escapeText } from '../../platform/postgres/escaped-text.ts';
import { writeZigzag } from '../../schemas/varint.ts';

/** A text that must be found nowhere, in every form in which a store may hold it. */
export interface Needle {
  text: string;
  forms: readonly string[];
  bytes: readonly Buffer[];
  /**
   * A distinct id of the person: found as a whole value only, so that `u1` is not found in `u10`.
   * Or something else that an operator gave: found within other texts, too.
   */
  isName: boolean;
}

/** The text as it is, in JSON, in ASCII-only JSON, and as a text field of a PostgreSQL row. */
export function needleOf(text: string, isName: boolean): Needle {
  const json = JSON.stringify(text).slice(1, -1);
  const ascii = json.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const composite = text.replaceAll('\\', '\\\\').replaceAll('"', '""');
  const url = encodeURIComponent(text.toWellFormed());
  const forms = [...new Set([text, json, ascii, composite, url])];
  return { text, forms, bytes: forms.map((form) => Buffer.from(form)), isName };
}

/** A number occurs everywhere: as a name it counts in quotes only. */
function isNumber(text: string): boolean {
  return /^[\d.-]*$/.test(text);
}

/** A form of a needle as a regular expression of PostgreSQL. */
export function postgresPattern({ text, isName }: Needle, form: string): string {
  if (!isName) return literal(form);
  if (isNumber(text)) return `(?<=${QUOTED})${literal(form)}(?=${QUOTED})`;
  return `(?<![[:alnum:]_.@-])${literal(form)}(?![[:alnum:]_.@-])`;
}

/** Of the text of a row in JSON, in which texts may hold JSON again. */
export function postgresPatterns(needle: Needle): string[] {
  const forms = [...needle.forms, escapeText(needle.text)].flatMap((form) => {
    const once = JSON.stringify(form).slice(1, -1);
    return [form, once, JSON.stringify(once).slice(1, -1)];
  });
  return [...new Set(forms)].map((form) => postgresPattern(needle, form.replaceAll('\0', '')));
}

/** A form of a needle as a regular expression of RE2 (ClickHouse). */
export function re2Pattern({ text, isName }: Needle, form: string): string {
  if (!isName) return literal(form);
  if (isNumber(text)) return `${QUOTED}${literal(form)}${QUOTED}`;
  return String.raw`(^|[^\pL\pN_.@-])${literal(form)}($|[^\pL\pN_.@-])`;
}

const QUOTED = String.raw`["'\\]`;

/** A text as a regular expression of PostgreSQL or RE2. */
export function literal(text: string): string {
  return text.replace(/[!-/:-@[-^`{-~]/g, '\\$&');
}

/** Whether some bytes hold one of its forms. */
export function holds(bytes: Buffer, { bytes: forms, isName, text }: Needle): boolean {
  if (!isName) return forms.some((form) => bytes.includes(form));
  const isBound = isNumber(text) ? isQuote : isNoWord;
  return forms.some((form) => {
    const length = writeZigzag(form.length);
    for (let at = bytes.indexOf(form); at !== -1; at = bytes.indexOf(form, at + 1)) {
      // A text in Avro begins with its length; nothing ends it.
      if (bytes.subarray(Math.max(0, at - length.length), at).equals(length)) return true;
      if (isBound(bytes[at - 1]) && isBound(bytes[at + form.length])) return true;
    }
    return false;
  });
}

const QUOTES = new Set(Buffer.from(`"'\\`));

function isQuote(byte: number | undefined): boolean {
  return byte === undefined || QUOTES.has(byte);
}

/** Neither alphanumeric nor what ids and addresses are joined with. */
function isNoWord(byte: number | undefined): boolean {
  return byte === undefined || (byte < 0x80 && !/[\w.@-]/.test(String.fromCharCode(byte)));
}
