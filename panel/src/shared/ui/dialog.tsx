import { Trans, useLingui } from '@lingui/react/macro';
import { useEffect, useId, useRef, useState, type ReactNode } from 'react';
import { Button } from './button.tsx';
import { TextField } from './field.tsx';
import { Icon } from './icon.tsx';
import { ProblemText } from './states.tsx';
import styles from './dialog.module.css';

interface DialogProps {
  title: ReactNode;
  onClose: () => void;
  children: ReactNode;
  /** Buttons at the end. */
  actions?: ReactNode;
}

/** A modal dialog, open as long as it is rendered. Escape and a press outside close it. */
export function Dialog({ title, onClose, children, actions }: DialogProps) {
  const { t } = useLingui();
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={styles['dialog']}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div className={styles['content']}>
        <div className={styles['head']}>
          <h2 id={id}>{title}</h2>
          <Button kind="icon" aria-label={t`بستن`} onClick={onClose}>
            <Icon name="close" />
          </Button>
        </div>
        {children}
        {actions ? <div className={styles['actions']}>{actions}</div> : null}
      </div>
    </dialog>
  );
}

interface ConfirmProps {
  title: ReactNode;
  /** What happens, and whether it can be undone. */
  children: ReactNode;
  /** Of the button. */
  action: ReactNode;
  /** Has to be typed; undefined: the button is enough. */
  name?: string;
  isBusy: boolean;
  error: unknown;
  onConfirm: () => void;
  onClose: () => void;
}

/** Asks before a dangerous action, for the name of what it changes. */
export function ConfirmDialog({
  title,
  children,
  action,
  name,
  isBusy,
  error,
  onConfirm,
  onClose,
}: ConfirmProps) {
  const [typed, setTyped] = useState('');
  const isNamed = name === undefined || typed.trim() === name;
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>
            <Trans>انصراف</Trans>
          </Button>
          <Button kind="danger" isBusy={isBusy} disabled={!isNamed} onClick={onConfirm}>
            {action}
          </Button>
        </>
      }
    >
      <div>{children}</div>
      {name === undefined ? null : (
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
      )}
      {error ? (
        <p role="alert" className={styles['problem']}>
          <ProblemText error={error} />
        </p>
      ) : null}
    </Dialog>
  );
}
