/** A rule of a file in which each expression, duration and link is on one line. */
export interface Rule {
  /** Exactly one of them. */
  alert: string | undefined;
  record: string | undefined;
  expr: string;
  /** s */
  for: number;
  severity: string;
  runbook: string;
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };

/** The rules of a file of Prometheus. */
export function readRules(text: string): Rule[] {
  return text
    .split(/^ *- (?=(?:alert|record): )/m)
    .slice(1)
    .map((block) => {
      const found = (pattern: RegExp) => pattern.exec(block)?.[1];
      const wait = /^ *for: (\d+)([smh])$/m.exec(block);
      return {
        alert: found(/^alert: (\w+)$/m),
        record: found(/^record: ([\w:]+)$/m),
        expr: found(/^ *expr: (.+)$/m) ?? '',
        for: Number(wait?.[1] ?? 0) * (SECONDS[wait?.[2] ?? ''] ?? 0),
        severity: found(/^ *labels: \{ severity: (\w+) \}$/m) ?? '',
        runbook: found(/^ *runbook_url: '(.+)'$/m) ?? '',
      };
    });
}
