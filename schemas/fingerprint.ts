const EMPTY = 0xc15d213aa4d7a795n;

const TABLE = Array.from({ length: 256 }, (_, index) => {
  let value = BigInt(index);
  for (let bit = 0; bit < 8; bit++) value = (value >> 1n) ^ (value & 1n ? EMPTY : 0n);
  return value;
});

/**
 * CRC-64-AVRO of a schema's canonical form, as a 16-digit hexadecimal number (Avro 1.12
 * specification, "Schema Fingerprints").
 * @param canonical parsing canonical form of the schema
 */
export function fingerprint(canonical: string): string {
  let value = EMPTY;
  for (const byte of Buffer.from(canonical, 'utf8'))
    value = (value >> 8n) ^ (TABLE[Number((value ^ BigInt(byte)) & 0xffn)] ?? 0n);
  return value.toString(16).padStart(16, '0');
}
