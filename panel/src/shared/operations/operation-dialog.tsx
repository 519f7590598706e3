import { Trans } from '@lingui/react/macro';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState, type ReactNode } from 'react';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { Banner, Loading, ProblemText } from '../ui/states.tsx';
import { OperationWaits } from './operation-waits.tsx';
import {
  isOpen,
  useOperation,
  type OperationRequest,
  type OperationResult,
  type RunningOperation,
} from './operation.ts';

interface Props {
  title: ReactNode;
  /** What will happen, whether it can be undone; before the dry run's result. */
  children?: ReactNode;
  /** Undefined: fields of `children` are not filled yet. */
  request: ((isDry: boolean) => OperationRequest) | undefined;
  /** Has to be typed. */
  name: string;
  /** Of the button. */
  action: ReactNode;
  /** What the dry run found. */
  preview: (result: OperationResult) => ReactNode;
  /** Undefined: there is nothing to do. */
  mayGoOn: (result: OperationResult) => boolean;
  done: (result: OperationResult) => ReactNode;
  /** Queries that are different afterwards. */
  changes: readonly string[];
  onClose: () => void;
}

/**
 * A dangerous action of the engineer on call: a dry run first, then the name of what it changes,
 * then the work itself, which goes on when the dialog is closed.
 */
export function OperationDialog({
  title,
  children,
  request,
  name,
  action,
  preview,
  mayGoOn,
  done,
  changes,
  onClose,
}: Props) {
  const queryClient = useQueryClient();
  const [typed, setTyped] = useState('');
  const dry = useOperation();
  const run = useOperation();
  const found = dry.operation?.state === 'succeeded' ? (dry.operation.result ?? {}) : undefined;
  const ended = run.operation && !isOpen(run.operation) ? run.operation : undefined;
  useEffect(() => {
    if (!ended) return;
    for (const key of changes) void queryClient.invalidateQueries({ queryKey: [key] });
  }, [ended, changes, queryClient]);
  const canRun = found !== undefined && mayGoOn(found) && !run.isStarted;
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>
            <Trans>بستن</Trans>
          </Button>
          {!dry.isStarted ? (
            <Button
              kind="primary"
              disabled={!request}
              onClick={() => {
                if (request) dry.start(request(true));
              }}
            >
              <Trans>اجرای آزمایشی</Trans>
            </Button>
          ) : null}
          {canRun ? (
            <Button
              kind="danger"
              disabled={!request || typed.trim() !== name}
              onClick={() => {
                if (request) run.start(request(false));
              }}
            >
              {action}
            </Button>
          ) : null}
        </>
      }
    >
      {children}
      <Progress
        of={dry}
        waiting={<Trans>اجرای آزمایشی: چیزی تغییر نمی‌کند…</Trans>}
        done={preview}
      />
      {canRun ? (
        <TextField
          label={
            <Trans>
              برای تأیید، «<bdi>{name}</bdi>» را بنویسید
            </Trans>
          }
          dir="auto"
          autoComplete="off"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      ) : null}
      <Progress
        of={run}
        waiting={<Trans>در حال انجام است. این پنجره را می‌توانید ببندید؛ کار ادامه می‌یابد.</Trans>}
        done={(result) => <Banner tone="success">{done(result)}</Banner>}
      />
    </Dialog>
  );
}

function Progress({
  of: { operation, isStarted, error },
  waiting,
  done,
}: {
  of: RunningOperation;
  waiting: ReactNode;
  done: (result: OperationResult) => ReactNode;
}) {
  if (error)
    return (
      <div role="alert">
        <Banner tone="danger">
          <ProblemText error={error} />
        </Banner>
      </div>
    );
  if (!isStarted) return null;
  if (!operation || isOpen(operation))
    return (
      <>
        <p>{waiting}</p>
        {operation ? <OperationWaits operation={operation} /> : null}
        <Loading lines={2} />
      </>
    );
  if (operation.state === 'succeeded')
    return <div role="status">{done(operation.result ?? {})}</div>;
  return (
    <div role="alert">
      <Banner tone="danger">
        {operation.state === 'stopped' ? (
          <Trans>متوقف شد.</Trans>
        ) : (
          <Trans>
            انجام نشد: <bdi>{operation.error}</bdi>
          </Trans>
        )}
      </Banner>
    </div>
  );
}
