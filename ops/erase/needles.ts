/** A text that must be found nowhere, in every form in which a store may hold it. */
export interface Needle {
  text: string;
  forms: readonly string[];
  bytes: readonly Buffer[];
  /** A distinct id of the person, or something else that an operator gave. */
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

/** Whether some bytes hold one of its forms. */
export function holds(bytes: Buffer, { bytes: forms }: Needle): boolean {
  return forms.some((form) => bytes.includes(form));
}
