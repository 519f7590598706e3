import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { scanBody } from '../scan-body.ts';
import { WasmScanner } from './wasm-scanner.ts';

interface BodyScanner {
  scan: typeof scanBody;
  /** Why bodies are scanned in TypeScript; undefined: they are scanned in WebAssembly. */
  refusal: unknown;
}

let loaded: BodyScanner | undefined;

/** That of this thread, which takes 2 MiB. */
export function bodyScanner(): BodyScanner {
  return (loaded ??= loadScanner());
}

/** @param wasm for tests; otherwise scan-body.wasm */
export function loadScanner(
  wasm = () => readFileSync(join(import.meta.dirname, 'scan-body.wasm')),
): BodyScanner {
  try {
    const scanner = new WasmScanner(wasm());
    return { scan: (body, shape) => scanner.scan(body, shape), refusal: undefined };
  } catch (refusal) {
    return { scan: scanBody, refusal };
  }
}

interface Log {
  warn(fields: object, message: string): void;
}

/** Once at start: what follows is slower, and nothing else. */
export function reportScanner(log: Log, { refusal } = bodyScanner()): void {
  if (refusal === undefined) return;
  log.warn(
    { err: refusal, code: 'body_scanner_refused' },
    'bodies are scanned without WebAssembly, which takes twice the CPU: it needs SIMD (SSE 4.1 or NEON) and 2 MiB',
  );
}
