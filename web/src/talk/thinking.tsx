import { Fold } from '../components/fold.tsx'

/** Folded: its last line tells that something is going on. */
export function Thinking({ text, isNow }: { text: string; isNow: boolean }) {
  const lastLine = text.trimEnd().split('\n').at(-1) ?? ''
  return (
    <Fold icon="brain" title={isNow ? 'Thinking' : 'Thought'} detail={isNow ? lastLine : ''} isActive={isNow}>
      <p className="whitespace-pre-wrap text-sm text-soft">{text}</p>
    </Fold>
  )
}
