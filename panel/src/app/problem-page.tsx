import { useRouter } from '@tanstack/react-router';
import { ProblemState } from '../shared/ui/states.tsx';

/** A page that could not be loaded or rendered. */
export function ProblemPage({ error, reset }: { error: unknown; reset: () => void }) {
  const router = useRouter();
  return (
    <ProblemState
      error={error}
      isPage
      retry={() => {
        reset();
        void router.invalidate();
      }}
    />
  );
}
