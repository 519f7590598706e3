/** Headers whose value is used as it is; each may be there once. */
const TEXT_FIELDS = {
  authorization: 'authorization',
  'x-service-key': 'serviceKey',
  'user-agent': 'userAgent',
  origin: 'origin',
  'x-service-trace': 'trace',
  traceparent: 'traceparent',
  'x-forwarded-for': 'forwardedFor',
} as const;

export type TextField = (typeof TEXT_FIELDS)[keyof typeof TEXT_FIELDS];

/** `uncommon` changes how a message is framed, read or answered. */
export type HeaderKind = TextField | 'contentLength' | 'connection' | 'uncommon';

const KINDS: Readonly<Record<string, HeaderKind>> = {
  ...TEXT_FIELDS,
  'content-length': 'contentLength',
  connection: 'connection',
  // node:http reads it like Connection.
  'proxy-connection': 'connection',
  'transfer-encoding': 'uncommon',
  'content-encoding': 'uncommon',
  expect: 'uncommon',
  upgrade: 'uncommon',
  te: 'uncommon',
  trailer: 'uncommon',
};

interface NamedHeader {
  name: Buffer;
  kind: HeaderKind;
}

/** The headers of interest by the length of their name; most others differ in length already. */
const BY_LENGTH: (readonly NamedHeader[] | undefined)[] = [];
for (const [name, kind] of Object.entries(KINDS))
  BY_LENGTH[name.length] = [...(BY_LENGTH[name.length] ?? []), { name: Buffer.from(name), kind }];

/** What the header with this name is for; undefined: nothing that the gateway uses. */
export function headerAt(bytes: Buffer, from: number, end: number): HeaderKind | undefined {
  const candidates = BY_LENGTH[end - from];
  if (candidates === undefined) return undefined;
  for (const { name, kind } of candidates) {
    let index = 0;
    // Bit 0x20 turns A to Z into a to z, and no other byte of a name into one of these.
    while (index < name.length && ((bytes[from + index] ?? 0) | 0x20) === name[index]) index++;
    if (index === name.length) return kind;
  }
  return undefined;
}
