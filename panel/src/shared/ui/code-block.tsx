import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import styles from './code-block.module.css';

/** Text to copy as it is: a key, a command, a snippet. */
export function CodeBlock({ label, text }: { label: string; text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <div className={styles['block']}>
      <pre className={styles['text']} role="group" aria-label={label} tabIndex={0}>
        {text}
      </pre>
      <Button onClick={() => void copy()}>
        <Icon name={isCopied ? 'check' : 'copy'} />
        <span role="status">{isCopied ? <Trans>رونوشت شد</Trans> : <Trans>رونوشت</Trans>}</span>
      </Button>
    </div>
  );
}
