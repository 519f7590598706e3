import { useLingui } from '@lingui/react/macro';
import { useEffect, useRef } from 'react';
import { directedHtml } from './text-direction.ts';
import styles from './campaigns.module.css';

/** The HTML of an e-mail, in a frame that can reach neither the panel nor the network. */
export function MailFrame({ html }: { html: string }) {
  const { t } = useLingui();
  const frame = useRef<HTMLIFrameElement>(null);
  // The frame has an opaque origin, which no other target than '*' names.
  const show = () => frame.current?.contentWindow?.postMessage(directedHtml(html), '*');
  useEffect(show);
  return (
    <iframe
      ref={frame}
      title={t`متن ایمیل`}
      src="/mail-preview"
      sandbox="allow-scripts"
      className={styles['frame']}
      onLoad={show}
    />
  );
}
