const LENGTH_BYTES = 4;

/** Records of message-outcome.v1 as message_outbox holds them: each behind its length. */
export function frameOutcomes(records: readonly Buffer[]): Buffer {
  const bytes = records.reduce((sum, { length }) => sum + LENGTH_BYTES + length, 0);
  const framed = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const record of records) {
    at = framed.writeUInt32BE(record.length, at);
    at += record.copy(framed, at);
  }
  return framed;
}

/** The records of frameOutcomes. */
export function splitOutcomes(framed: Buffer): Buffer[] {
  const records: Buffer[] = [];
  for (let at = 0; at + LENGTH_BYTES <= framed.length;) {
    const end = at + LENGTH_BYTES + framed.readUInt32BE(at);
    records.push(framed.subarray(at + LENGTH_BYTES, end));
    at = end;
  }
  return records;
}
