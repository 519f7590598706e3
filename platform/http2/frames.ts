/** Frames of HTTP/2 (RFC 9113). A frame head: length (3 bytes), type, flags, stream id (4). */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const FLAG = {
  ack: 0x1,
  endStream: 0x1,
  endHeaders: 0x4,
  padded: 0x8,
  priority: 0x20,
} as const;

export const SETTING = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
} as const;

export const ERROR = {
  none: 0x0,
  protocol: 0x1,
  flowControl: 0x3,
  frameSize: 0x6,
  refusedStream: 0x7,
  cancel: 0x8,
  compression: 0x9,
  enhanceYourCalm: 0xb,
} as const;

const ERROR_NAMES = [
  ...['NO_ERROR', 'PROTOCOL_ERROR', 'INTERNAL_ERROR', 'FLOW_CONTROL_ERROR', 'SETTINGS_TIMEOUT'],
  ...['STREAM_CLOSED', 'FRAME_SIZE_ERROR', 'REFUSED_STREAM', 'CANCEL', 'COMPRESSION_ERROR'],
  ...['CONNECT_ERROR', 'ENHANCE_YOUR_CALM', 'INADEQUATE_SECURITY', 'HTTP_1_1_REQUIRED'],
];

export function errorName(code: number): string {
  return ERROR_NAMES[code] ?? `error ${code}`;
}

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
export const FRAME_HEAD_BYTES = 9;
/** The window of a connection, and of a stream until SETTINGS say otherwise. */
export const DEFAULT_WINDOW_BYTES = 65_535;
export const MAX_WINDOW_BYTES = 2 ** 31 - 1;
/** The longest payload unless SETTINGS_MAX_FRAME_SIZE allows more; this side never does. */
export const DEFAULT_FRAME_BYTES = 16_384;

/** The server broke the protocol: the connection ends with `code` in a GOAWAY. */
export class ProtocolError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(`${message} (${errorName(code)})`);
    this.name = 'ProtocolError';
    this.code = code;
  }
}
