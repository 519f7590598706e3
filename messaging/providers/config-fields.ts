import { isJsonObject, type JsonObject } from '../../events/json.ts';

/** Every configuration may have it; read with the limits of the sender. */
const ALWAYS = ['max_per_second'];
const MAX_TEXT = 500;

/**
 * The fields of a sender's configuration. Everything throws an Error with a sentence that names the
 * provider and the field; fields that nothing reads are refused, because they may be misspelt.
 */
export class ConfigFields {
  readonly #provider: string;
  readonly #fields: JsonObject;

  constructor(provider: string, json: unknown, names: readonly string[]) {
    this.#provider = provider;
    if (!isJsonObject(json)) throw this.#problem('the configuration has to be a JSON object');
    const known = [...names, ...ALWAYS];
    const unknown = Object.keys(json).find((name) => !known.includes(name));
    if (unknown !== undefined)
      throw this.#problem(`there is no field ${unknown}; there are ${known.join(', ')}`);
    this.#fields = json;
  }

  /** A text of one line. Without a fallback it is required and not empty. */
  text(name: string, fallback?: string): string {
    const value = this.#fields[name] ?? fallback;
    if (value === undefined || (value === '' && fallback === undefined))
      throw this.#problem(`${name} is missing`);
    // eslint-disable-next-line no-control-regex -- a control character would end a header or a field
    if (typeof value !== 'string' || value.length > MAX_TEXT || /[\u0000-\u001f\u007f]/.test(value))
      throw this.#problem(`${name} has to be a text of one line, at most ${MAX_TEXT} characters`);
    return value.trim();
  }

  /** A name of letters, digits and `.:_-`, which stands in headers and paths. */
  identifier(name: string): string {
    const value = this.text(name);
    if (!/^[\w.:-]{1,200}$/.test(value))
      throw this.#problem(`${name} has to be of letters, digits and .:_-`);
    return value;
  }

  port(name: string): number {
    const value = this.#fields[name];
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > 65_535)
      throw this.#problem(`${name} has to be a port from 1 to 65535`);
    return value;
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.#fields[name] ?? fallback;
    if (typeof value !== 'boolean') throw this.#problem(`${name} has to be true or false`);
    return value;
  }

  /** The base of an API, to which paths are appended: without a slash at its end. */
  baseUrl(name: string, fallback: string): string {
    const text = this.text(name, fallback);
    const url = URL.parse(text);
    if (!url || !['http:', 'https:'].includes(url.protocol) || url.username + url.password !== '')
      throw this.#problem(`${name} has to be a URL such as ${fallback}, without a password`);
    if (url.search !== '' || url.hash !== '')
      throw this.#problem(`${name} is a base to which paths are appended: no ? and no #`);
    return url.href.replace(/\/+$/, '');
  }

  #problem(sentence: string): Error {
    return new Error(`${this.#provider}: ${sentence}`);
  }
}
