import { AvroWriter } from '../schemas/avro-writer.ts';
import { truncateBytes } from './bytes.ts';
import { CONTEXT_PATHS, MAX_IP_BYTES, type Connection, type ContextColumns } from './context.ts';
import { JSON_BYTES } from './json-bytes.ts';
import { NONE as NO_END, plainEnd, skipSpace, valueEnd } from './json-ends.ts';
import { KeyTable } from './key-table.ts';
import { normalEnd } from './normal-bytes.ts';
import { normalisePersian } from './persian.ts';
import type { UserAgentFacts } from './user-agent.ts';

const { BACKSLASH, CLOSE_BRACE, COMMA, OPEN_BRACE, QUOTE } = JSON_BYTES;
// A constant of this module: an imported one is read anew at each use.
const NONE = NO_END;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
/** Of an id as text; a number of more digits is left to JSON.parse. */
const MAX_ID_DIGITS = 16;

/** The number of a field: its place in CONTEXT_PATHS. */
function fieldOf(column: keyof ContextColumns): number {
  return CONTEXT_PATHS.findIndex(([name]) => name === column);
}

/** The keys of a part that are fields, with their numbers. */
function keysOf(part: string): (readonly [key: string, field: number])[] {
  return CONTEXT_PATHS.flatMap(([, of, key], field) =>
    of === part ? [[key, field] as const] : [],
  );
}

const PARTS = [...new Set(CONTEXT_PATHS.map(([, part]) => part))].filter((part) => part !== '');
const PART_KEYS = PARTS.map((part) => new KeyTable(keysOf(part)));
/** The numbers of parts among the keys of a context are those from here on. */
const FIRST_PART = CONTEXT_PATHS.length;
const CONTEXT = new KeyTable([
  ...keysOf(''),
  ...PARTS.map((part, number) => [part, FIRST_PART + number] as const),
]);

const IP = fieldOf('ip');
const LOCALE = fieldOf('locale');
const TIMEZONE = fieldOf('timezone');
const SESSION_ID = fieldOf('session_id');
const DEVICE_TYPE = fieldOf('device_type');
const DEVICE_MODEL = fieldOf('device_model');
const DEVICE_VENDOR = fieldOf('device_vendor');
const PUSH_PROVIDER = fieldOf('push_provider');
const OS_NAME = fieldOf('os_name');
const OS_VERSION = fieldOf('os_version');
const PAGE_URL = fieldOf('page_url');
const PAGE_PATH = fieldOf('page_path');
const PAGE_REFERRER = fieldOf('page_referrer');
const PAGE_TITLE = fieldOf('page_title');
const UTM_SOURCE = fieldOf('utm_source');
const UTM_MEDIUM = fieldOf('utm_medium');
const UTM_CAMPAIGN = fieldOf('utm_campaign');
const UTM_TERM = fieldOf('utm_term');
const UTM_CONTENT = fieldOf('utm_content');
const CAMPAIGN_ID = fieldOf('campaign_id');
const JOURNEY_ID = fieldOf('journey_id');
const VARIANT_ID = fieldOf('variant_id');
const SOURCE_MESSAGE_ID = fieldOf('source_message_id');
const TOKEN = fieldOf('sg_t');
const COUNTRY = fieldOf('country');
const REGION = fieldOf('region');
const CITY = fieldOf('city');
const LIBRARY_NAME = fieldOf('library_name');
const LIBRARY_VERSION = fieldOf('library_version');
const APP_VERSION = fieldOf('app_version');
const CARRIER = fieldOf('carrier');

/* eslint-disable @typescript-eslint/no-non-null-assertion -- indexes are bounded; a fallback for each byte halves the speed */

/**
 * Encodes the columns from `ip` to `city` from the bytes of a context: the bytes that
 * contextColumns and writeContext (schemas/row-encoder.ts) give, without the values between.
 */
export class ContextWriter {
  /** Begin and end of the text of each field; both 0 when it is absent. */
  readonly #places = new Int32Array(2 * CONTEXT_PATHS.length);
  /** Which fields and parts were found, as CONTEXT numbers them: of equal keys the last counts. */
  readonly #found = new Uint8Array(FIRST_PART + PARTS.length);
  readonly #isAscii = new Uint8Array(CONTEXT_PATHS.length);
  #bytes: Buffer = Buffer.alloc(0);
  #to = new AvroWriter(0);
  readonly #agent = new AgentBlock();

  /**
   * Appends the columns of the context between `start` and `end`, which is valid JSON; there is
   * none when both are 0. False, and nothing is written, for what is not common: contextColumns
   * must read it.
   */
  write(
    bytes: Buffer,
    { start, end }: { start: number; end: number },
    { ip, agent }: Connection,
    to: AvroWriter,
  ): boolean {
    this.#places.fill(0);
    this.#found.fill(0);
    // Another value than an object counts as none.
    if (end > 0 && bytes[start] === OPEN_BRACE && this.#read(bytes, start, CONTEXT) === NONE)
      return false;
    this.#bytes = bytes;
    this.#to = to;
    const osName = this.#osName();
    const vendor = this.#value(DEVICE_VENDOR, 64);
    const isSameOs = osName === '' || osName === agent.osName;
    const isSameVendor = vendor === '' || vendor.toLowerCase() === agent.deviceVendor.toLowerCase();
    if (ip === '') this.#text(IP, MAX_IP_BYTES);
    else to.string(truncateBytes(ip, MAX_IP_BYTES));
    this.#agent.write(agent, to);
    this.#text(LIBRARY_NAME, 64);
    this.#text(LIBRARY_VERSION, 32);
    this.#text(APP_VERSION, 64);
    this.#text(DEVICE_TYPE, 32, agent.deviceType);
    this.#text(DEVICE_MODEL, 128, isSameVendor ? agent.deviceModel : '');
    to.string(vendor || agent.deviceVendor);
    this.#text(PUSH_PROVIDER, 16);
    to.string(osName || agent.osName);
    this.#text(OS_VERSION, 32, isSameOs ? agent.osVersion : '');
    this.#text(CARRIER, 64);
    this.#text(PAGE_URL, 2048);
    this.#text(PAGE_PATH, 2048);
    this.#text(PAGE_REFERRER, 2048);
    this.#persian(PAGE_TITLE, 512);
    this.#text(UTM_SOURCE, 128);
    this.#text(UTM_MEDIUM, 128);
    this.#text(UTM_CAMPAIGN, 128);
    this.#text(UTM_TERM, 128);
    this.#text(UTM_CONTENT, 128);
    this.#id(CAMPAIGN_ID);
    this.#id(JOURNEY_ID);
    this.#text(VARIANT_ID, 64);
    this.#text(SOURCE_MESSAGE_ID, 256);
    this.#text(TOKEN, 128);
    this.#text(LOCALE, 32);
    this.#text(TIMEZONE, 64);
    this.#text(SESSION_ID, 256);
    this.#persian(COUNTRY, 64);
    this.#persian(REGION, 64);
    this.#persian(CITY, 64);
    return true;
  }

  /** Finds the fields of the object at `start`, whose keys are in the table; returns its end. */
  #read(bytes: Buffer, start: number, table: KeyTable): number {
    let at = skipSpace(bytes, start + 1);
    while (bytes[at] !== CLOSE_BRACE) {
      const key = at + 1;
      const keyEnd = plainEnd(bytes, key);
      // It may be one of the keys that are looked for.
      if (keyEnd === NONE) return NONE;
      const value = skipSpace(bytes, skipSpace(bytes, keyEnd + 1) + 1);
      const known = table.find(bytes, key, keyEnd);
      if (known === undefined) at = valueEnd(bytes, value, 0);
      else {
        if (this.#found[known] === 1) return NONE;
        this.#found[known] = 1;
        if (known < FIRST_PART) at = this.#readField(bytes, known, value);
        else if (bytes[value] === OPEN_BRACE)
          at = this.#read(bytes, value, PART_KEYS[known - FIRST_PART]!);
        else at = valueEnd(bytes, value, 0);
      }
      if (at === NONE) return NONE;
      at = skipSpace(bytes, at);
      if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
    }
    return at + 1;
  }

  /** Where the field is whose value begins at `start`; returns the end of the value. */
  #readField(bytes: Buffer, field: number, start: number): number {
    const first = bytes[start]!;
    if (first === QUOTE) {
      let at = start + 1;
      let units = 0;
      for (let byte = bytes[at]!; byte !== QUOTE; byte = bytes[++at]!) {
        if (byte === BACKSLASH) return NONE;
        units |= byte;
      }
      this.#places[2 * field] = start + 1;
      this.#places[2 * field + 1] = at;
      this.#isAscii[field] = units < 0x80 ? 1 : 0;
      return at + 1;
    }
    if (first !== MINUS && !(first >= ZERO && first <= NINE)) return valueEnd(bytes, start, 0);
    // The text of a number may be another one than its JSON.
    if (field !== CAMPAIGN_ID && field !== JOURNEY_ID) return NONE;
    const end = valueEnd(bytes, start, 0);
    for (let at = start; at < end; at++)
      if (!(bytes[at]! >= ZERO && bytes[at]! <= NINE)) return NONE;
    this.#places[2 * field] = start;
    this.#places[2 * field + 1] = end;
    return end - start > MAX_ID_DIGITS ? NONE : end;
  }

  /** The text of a field, cut to `bound` bytes. */
  #value(field: number, bound: number): string {
    const [start, end] = [this.#places[2 * field]!, this.#places[2 * field + 1]!];
    return end === start ? '' : truncateBytes(this.#bytes.toString('utf8', start, end), bound);
  }

  #osName(): string {
    const [start, end] = [this.#places[2 * OS_NAME]!, this.#places[2 * OS_NAME + 1]!];
    if (end === start) return '';
    return truncateBytes(this.#bytes.toString('utf8', start, end).toLowerCase(), 32);
  }

  #text(field: number, bound: number, otherwise = ''): void {
    const start = this.#places[2 * field]!;
    const end = this.#places[2 * field + 1]!;
    if (end === start) this.#to.string(otherwise);
    else if (end - start <= bound && this.#isAscii[field] === 1)
      this.#to.encodedString(this.#bytes, start, end);
    else this.#to.string(this.#value(field, bound));
  }

  #persian(field: number, bound: number): void {
    const start = this.#places[2 * field]!;
    const end = this.#places[2 * field + 1]!;
    if (end - start <= bound && (end === start || normalEnd(this.#bytes, start) === end))
      this.#to.encodedString(this.#bytes, start, end);
    else this.#to.string(normalisePersian(this.#bytes.toString('utf8', start, end), bound));
  }

  #id(field: number): void {
    const start = this.#places[2 * field]!;
    const end = this.#places[2 * field + 1]!;
    let id = end - start > MAX_ID_DIGITS ? Number.NaN : 0;
    for (let at = start; at < end; at++) {
      const byte = this.#bytes[at]!;
      id = byte >= ZERO && byte <= NINE ? id * 10 + (byte - ZERO) : Number.NaN;
    }
    this.#to.long(Number.isSafeInteger(id) ? id : 0);
  }
}
/* eslint-enable @typescript-eslint/no-non-null-assertion */

/** The columns that only the User-Agent gives: many events after each other have the same. */
class AgentBlock {
  readonly #scratch = new AvroWriter(1024);
  #agent: UserAgentFacts | undefined;

  write(agent: UserAgentFacts, to: AvroWriter): void {
    const scratch = this.#scratch;
    if (agent !== this.#agent) {
      scratch.truncate(0);
      scratch.string(agent.userAgent);
      scratch.boolean(agent.isBot);
      scratch.string(agent.browserName);
      scratch.string(agent.browserVersion);
      this.#agent = agent;
    }
    to.raw(scratch.buffer, 0, scratch.end);
  }
}
