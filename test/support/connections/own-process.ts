import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { endWithTest } from '../end-with-test.ts';

const LOG_CHARACTERS = 20_000;

/** A server that a test starts, with the end of its output. */
export class OwnProcess {
  readonly #child: ChildProcess;
  log = '';

  constructor(command: string, args: readonly string[], options: SpawnOptions = {}) {
    this.#child = spawn(command, [...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    endWithTest(this.#child);
    this.#child.on('error', (error) => (this.log += String(error)));
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        this.log = `${this.log}${chunk.toString()}`.slice(-LOG_CHARACTERS);
      });
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal);
  }

  async end(signal: 'SIGKILL' | 'SIGINT' = 'SIGKILL'): Promise<void> {
    if (!this.isRunning) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    await ended;
  }
}
