/**
 * The scan of a body (../scan-body.ts) in AssemblyScript, 16 bytes at a time: about a third of the
 * CPU. `node deploy/generate/wasm.ts` compiles it.
 *
 * Bytes come from clients, so nothing here depends on their being JSON. No loop passes a zero, so
 * each ends at those behind the body at the latest; depth is bounded; and what is found is written
 * for MAX_EVENTS events at most.
 */
import { keyEnd, NONE, skipSpace } from './bytes.as';
import { beginBody, eventCount, itemsEnd, singleEnd, writePlace } from './events.as';
import {
  BATCH_CONTEXT,
  BATCH_SENT_AT,
  BODY_AT,
  FOUND_AT,
  HEADER,
  MARGIN,
  MAX_BODY_BYTES,
} from './scan-layout';
import { ANY, objectEnd, valueEnd } from './values.as';

/** 1 when the body of so many bytes is one event; 0: JSON.parse must read it. */
export function scanSingle(length: i32): i32 {
  if (!begin(length)) return 0;
  const end = singleEnd(skipSpace(BODY_AT));
  return i32(end != NONE && skipSpace(end) == BODY_AT + length);
}

/** Number of the events of a batch; 0: JSON.parse must read it. */
export function scanBatch(length: i32): i32 {
  if (!begin(length)) return 0;
  let count = 0;
  let hasContext = false;
  let hasSentAt = false;
  let at = skipSpace(BODY_AT);
  if (load<u8>(at) != 0x7b) return 0;
  at = skipSpace(at + 1);
  while (true) {
    if (load<u8>(at) != 0x22) return 0;
    const key = at + 1;
    const behind = keyEnd(key);
    if (behind == NONE) return 0;
    at = skipSpace(behind + 1);
    if (load<u8>(at) != 0x3a) return 0;
    const start = skipSpace(at + 1);
    if (isBatch(key, behind)) {
      if (count > 0) return 0;
      at = itemsEnd(start);
      count = eventCount();
    } else if (isContext(key, behind)) {
      if (hasContext || load<u8>(start) != 0x7b) return 0;
      hasContext = true;
      at = objectEnd(start + 1, 1, ANY);
      writePlace(FOUND_AT, BATCH_CONTEXT, start, at);
    } else if (isSentAt(key, behind)) {
      if (hasSentAt || load<u8>(start) != 0x22) return 0;
      hasSentAt = true;
      const end = keyEnd(start + 1);
      if (end == NONE) return 0;
      at = end + 1;
      writePlace(FOUND_AT, BATCH_SENT_AT, start, at);
    } else at = valueEnd(start, 1);
    if (at == NONE) return 0;
    at = skipSpace(at);
    if (load<u8>(at) == 0x2c) at = skipSpace(at + 1);
    else return load<u8>(at) == 0x7d && skipSpace(at + 1) == BODY_AT + length ? count : 0;
  }
}

/** False for a body that is larger than the memory for it. */
function begin(length: i32): bool {
  if (length < 0 || length > MAX_BODY_BYTES) return false;
  memory.fill(BODY_AT + length, 0, MARGIN);
  memory.fill(FOUND_AT, 0, HEADER * 4);
  beginBody(BODY_AT + length);
  return true;
}

function isBatch(key: usize, end: usize): bool {
  return end - key == 5 && load<u32>(key) == 0x63746162 && load<u8>(key, 4) == 0x68;
}

function isContext(key: usize, end: usize): bool {
  return end - key == 7 && load<u32>(key) == 0x746e6f63 && load<u32>(key, 3) == 0x74786574;
}

function isSentAt(key: usize, end: usize): bool {
  return end - key == 7 && load<u32>(key) == 0x746e6573 && load<u32>(key, 3) == 0x74615f74;
}
