import { useEffect, useRef } from 'react'
import { classes } from '../components/classes.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import type { VoiceSession } from './voice-session.ts'
import type { VoiceState } from './voice-state.ts'

const icons: Record<VoiceState['kind'], IconName> = {
  off: 'microphone',
  opening: 'microphone',
  listening: 'microphone',
  writing: 'edit',
  thinking: 'brain',
  speaking: 'sound',
}

/** The state as a picture; while it listens, it grows with how loud the user is. */
export function LevelMeter({ session, state }: { session: VoiceSession; state: VoiceState }) {
  const ring = useRef<HTMLSpanElement>(null)
  const isListening = state.kind === 'listening'

  useEffect(() => {
    const element = ring.current
    if (!element || !isListening) return
    // Many times a second: past React.
    const stop = session.subscribeLevel((level) => {
      element.style.transform = `scale(${1 + level * 0.5})`
    })
    return () => {
      stop()
      element.style.transform = ''
    }
  }, [session, isListening])

  return (
    <span className="relative m-1 flex size-9 shrink-0 items-center justify-center">
      <span ref={ring} aria-hidden className="absolute inset-0 rounded-full bg-accent-soft transition-transform" />
      <span className={classes('relative text-accent', !isListening && 'breathing')}>
        <Icon name={icons[state.kind]} />
      </span>
    </span>
  )
}
