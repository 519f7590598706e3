import { DataType, load, open } from 'ffi-rs';

const O_RDWR = 2;

/**
 * Makes standard input of this process a pseudo-terminal that nobody writes to. Both ends belong
 * to the process and end with it. Throws where the system has none.
 */
export function openTerminalAsStdin(): void {
  open({ library: 'libc', path: '' });
  const terminal = call('posix_openpt', O_RDWR);
  call('grantpt', terminal);
  call('unlockpt', terminal);
  const name = load({
    library: 'libc',
    funcName: 'ptsname',
    retType: DataType.String,
    paramsType: [DataType.I32],
    paramsValue: [terminal],
  });
  const end = load({
    library: 'libc',
    funcName: 'open',
    retType: DataType.I32,
    paramsType: [DataType.String, DataType.I32],
    paramsValue: [name, O_RDWR],
  });
  if (end < 0) throw new Error(`open ${name} failed`);
  call('dup2', end, 0);
}

/** Calls a function of libc that takes and returns `int`; throws when it returns an error. */
function call(funcName: string, ...values: number[]): number {
  const result = load({
    library: 'libc',
    funcName,
    retType: DataType.I32,
    paramsType: values.map(() => DataType.I32),
    paramsValue: values,
  });
  if (result < 0) throw new Error(`${funcName} failed`);
  return result;
}
