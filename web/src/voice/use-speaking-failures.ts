import { useEffect } from 'react'
import { useToasts } from '../components/toast.tsx'
import { onSpeakingFailure } from './page-voice.ts'

/** For whatever lets the page speak: where it cannot, it says why. */
export function useSpeakingFailures(): void {
  const toasts = useToasts()
  useEffect(() => onSpeakingFailure(toasts.failed), [toasts])
}
