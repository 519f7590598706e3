import type { ButtonHTMLAttributes, ReactNode } from 'react';
import styles from './button.module.css';

export type ButtonKind = 'primary' | 'secondary' | 'quiet' | 'danger' | 'icon';

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: ButtonKind;
  /** What the button started has not ended: it cannot be pressed again. */
  isBusy?: boolean;
  children: ReactNode;
}

export function Button({ kind = 'secondary', isBusy = false, children, ...rest }: Props) {
  return (
    <button
      type="button"
      {...rest}
      className={buttonClass(kind)}
      disabled={isBusy || rest.disabled === true}
      aria-busy={isBusy || undefined}
    >
      {children}
    </button>
  );
}

/** The class of a link that looks like a button. */
export function buttonClass(kind: ButtonKind): string {
  return `${styles['button']} ${styles[kind]}`;
}
