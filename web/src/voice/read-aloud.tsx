import { useSyncExternalStore } from 'react'
import { Icon } from '../components/icon.tsx'
import { mouth, readAloud } from './page-voice.ts'

/** Says one message, or stops saying it. */
export function ReadAloud({ id, text }: { id: string; text: string }) {
  const isReading = useSyncExternalStore(mouth.subscribe, () => mouth.owner() === id)
  return (
    <button
      type="button"
      onClick={() => (isReading ? mouth.cut() : readAloud(text, id))}
      className="inline-flex min-h-7 items-center gap-1 rounded px-1.5 text-xs text-soft hover:text-ink"
    >
      <Icon name={isReading ? 'stop' : 'sound'} size={14} />
      {isReading ? 'Stop reading' : 'Read aloud'}
    </button>
  )
}
