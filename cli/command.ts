import type { Home } from './stack/home.ts';
import type { Ready } from './stack/ready.ts';

/** What every command of `./ravand` gets beside its arguments. */
export interface CommandContext {
  home: Home;
  /** The checkout that holds the code. */
  checkout: string;
  env: NodeJS.ProcessEnv;
  /** The stack that runs under this home, as ready.json tells it; undefined while none is ready. */
  ready: () => Ready | undefined;
}

export interface Command {
  name: string;
  summary: string;
  usage: string;
  /** Answers the exit code. Throws Refusal when the request cannot be served. */
  run(args: string[], context: CommandContext): Promise<number>;
}

/** The request cannot be served; the message is one sentence for the person who typed it. */
export class CommandError extends Error {
  readonly exitCode: number;
  constructor(message: string, exitCode = 1) {
    super(message);
    this.name = 'Refusal';
    this.exitCode = exitCode;
  }
}
