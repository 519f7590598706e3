import { DatumValues } from './datum-values.ts';
import {
  BOOLEAN,
  DOUBLE,
  LONG,
  MAP_OF_NUMBERS,
  MAP_OF_TEXTS,
  TEXT,
  type SkippedValues,
} from './datum-skip.ts';
import type { EventRow } from './records.ts';
import { NEWEST_ROW_VERSION, ROW_VERSIONS, rowVersion, type RowField } from './row-versions.ts';

export type MapField = 'properties' | 'property_numbers' | 'traits' | 'trait_numbers' | 'profile';

/** Which fields of a row are read, and what is made of them. All others are skipped. */
export interface RowShape<Row, Field extends keyof EventRow, Keys extends MapField = never> {
  fields: readonly Field[];
  /** Maps of which only the keys are read. */
  keysOf?: readonly Keys[];
  /**
   * Makes the row of its values, which are valid during the call: best a literal, so that all rows
   * have one hidden class.
   */
  row(values: RowValues<Field, Keys>): Row;
}

/** The values of the fields that are read. The keys of a map are in the order of its entries. */
export type RowValues<Field extends keyof EventRow, Keys extends MapField = never> = Readonly<
  Pick<EventRow, Field> & Record<Keys, readonly string[]>
>;

/** Reads rows of one version of event-row; a field that the version lacks has its default. */
export interface RowDecoder<Row> {
  /** The row that begins at `from`; undefined when the bytes are no row. */
  read(bytes: Buffer, from: number): Row | undefined;
  /** Where the row that was read last ends. */
  readonly end: number;
}

/** By version of event-row. */
export type RowDecoders<Row> = ReadonlyMap<number, RowDecoder<Row>>;

/** A field that is read. */
interface Wanted {
  name: string;
  /** A kind, or one of the following. */
  mode: number;
  /** For versions without it. */
  otherwise: unknown;
}

const REPEATED_TEXT = 16;
const KEYS_OF_TEXTS = 17;
const KEYS_OF_NUMBERS = 18;

/** Columns with few values: their text is looked up instead of made. */
const REPEATED = new Set(['type', 'event']);

/**
 * Decoders of some fields, made of the schemas: for services, which read few fields of many rows.
 * Whole rows are read by rowBatchCodec. Throws for a field of a kind that DatumValues lacks.
 */
export function rowDecoders<Row, Field extends keyof EventRow, Keys extends MapField = never>(
  shape: RowShape<Row, Field, Keys>,
): RowDecoders<Row> {
  const { fields, keysOf = [] } = shape;
  const wanted = rowVersion(NEWEST_ROW_VERSION)
    .fields.filter(({ name }) => [...fields, ...keysOf].includes(name as Field))
    .map((field) => ({
      name: field.name,
      mode: modeOf(field, (keysOf as readonly string[]).includes(field.name)),
      otherwise: field.default,
    }));
  const slots: unknown[] = wanted.map(() => undefined);
  const values = {};
  for (const [slot, { name }] of wanted.entries())
    Object.defineProperty(values, name, { get: () => slots[slot] });
  const datum = new DatumValues();
  const make = () => shape.row(values as RowValues<Field, Keys>);
  return new Map(
    ROW_VERSIONS.map(({ version, fields: all }) => [
      version,
      new Decoder({ datum, wanted, slots, make, all }),
    ]),
  );
}

interface DecoderParts<Row> {
  datum: DatumValues;
  wanted: readonly Wanted[];
  slots: unknown[];
  make: () => Row;
  all: readonly RowField[];
}

class Decoder<Row> implements RowDecoder<Row> {
  readonly #datum: DatumValues;
  readonly #slots: unknown[];
  readonly #make: () => Row;
  /** What is skipped before each value that is read, and after the last one. */
  readonly #gaps: (SkippedValues | undefined)[];
  readonly #rest: SkippedValues;
  /** How each is read. */
  readonly #modes: Uint8Array;
  readonly #defaults: readonly unknown[];
  end = 0;

  constructor({ datum, wanted, slots, make, all }: DecoderParts<Row>) {
    this.#datum = datum;
    this.#slots = slots;
    this.#make = make;
    const kinds = Uint8Array.from(all, kindOf);
    const places = wanted.map(({ name }) => all.findIndex((field) => field.name === name));
    // Versions only add fields at their end (rowVersionsOf), so what is absent comes last.
    const present = places.filter((place) => place >= 0);
    const gap = (from: number, to: number) => ({ kinds, from, to });
    this.#gaps = present.map((to, slot) => {
      const from = (present[slot - 1] ?? -1) + 1;
      return from < to ? gap(from, to) : undefined;
    });
    this.#rest = gap((present.at(-1) ?? -1) + 1, all.length);
    this.#modes = Uint8Array.from(wanted.slice(0, present.length), ({ mode }) => mode);
    this.#defaults = wanted.slice(present.length).map(({ otherwise }) => otherwise);
  }

  read(bytes: Buffer, from: number): Row | undefined {
    try {
      this.#read(bytes, from);
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
    return this.#make();
  }

  #read(bytes: Buffer, from: number): void {
    const datum = this.#datum;
    const slots = this.#slots;
    datum.begin(bytes, from);
    let slot = 0;
    for (const mode of this.#modes) {
      const gap = this.#gaps[slot];
      if (gap) datum.skip(gap);
      slots[slot++] = valueOf(datum, mode);
    }
    datum.skip(this.#rest);
    this.end = datum.at;
    for (const otherwise of this.#defaults)
      slots[slot++] = typeof otherwise === 'object' ? { ...otherwise } : otherwise;
  }
}

function valueOf(datum: DatumValues, mode: number | undefined): unknown {
  switch (mode) {
    case LONG:
      return datum.long();
    case TEXT:
      return datum.text();
    case REPEATED_TEXT:
      return datum.repeatedText();
    case MAP_OF_TEXTS:
      return datum.texts();
    case MAP_OF_NUMBERS:
      return datum.numbers();
    case KEYS_OF_TEXTS:
      return datum.keys(true);
    case KEYS_OF_NUMBERS:
      return datum.keys(false);
    case BOOLEAN:
      return datum.boolean();
    default:
      return datum.double();
  }
}

function modeOf(field: RowField, isKeys: boolean): number {
  const kind = kindOf(field);
  if (isKeys) return kind === MAP_OF_TEXTS ? KEYS_OF_TEXTS : KEYS_OF_NUMBERS;
  return REPEATED.has(field.name) ? REPEATED_TEXT : kind;
}

function kindOf({ name, type }: RowField): number {
  const kind = typeof type === 'string' ? type : JSON.stringify(type);
  switch (kind) {
    case 'int':
    case 'long':
      return LONG;
    case 'string':
      return TEXT;
    case 'double':
      return DOUBLE;
    case 'boolean':
      return BOOLEAN;
    case '{"type":"map","values":"string"}':
      return MAP_OF_TEXTS;
    case '{"type":"map","values":"double"}':
      return MAP_OF_NUMBERS;
    default:
      throw new Error(`event-row: no reader for the field ${name} of type ${kind}`);
  }
}
