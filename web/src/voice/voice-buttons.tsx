import type { KeyboardEvent, MouseEvent, PointerEvent } from 'react'
import { IconButton } from '../components/button.tsx'
import { classes } from '../components/classes.ts'
import { Icon } from '../components/icon.tsx'
import type { Voice } from './use-voice.ts'

/** Beside the field for typing: hold to talk, or talk with both hands free. */
export function VoiceButtons({ voice }: { voice: Voice }) {
  const { session, state, hold } = voice
  const isHandsFree = state.kind !== 'off' && state.mode === 'hands_free'
  const isHeld =
    state.kind !== 'off' && state.mode === 'hold' && (state.kind === 'listening' || state.kind === 'opening')

  function onPointerDown(event: PointerEvent<HTMLButtonElement>): void {
    if (event.button !== 0) return
    event.currentTarget.setPointerCapture(event.pointerId)
    hold.press()
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key !== ' ' && event.key !== 'Enter') return
    event.preventDefault()
    if (!event.repeat) hold.press()
  }

  function onKeyUp(event: KeyboardEvent): void {
    if (event.key !== ' ' && event.key !== 'Enter') return
    event.preventDefault()
    hold.letGo()
  }

  /** Screen readers and switches press without a pointer and without keys: that is a tap. */
  function onClick(event: MouseEvent): void {
    if (event.detail !== 0) return
    hold.press()
    hold.letGo()
  }

  return (
    <>
      <IconButton
        label="Hold to talk (or hold Alt+V)"
        aria-pressed={isHeld}
        disabled={isHandsFree}
        className={classes('touch-none select-none', isHeld && 'bg-accent-soft text-accent')}
        onPointerDown={onPointerDown}
        onLostPointerCapture={hold.letGo}
        onContextMenu={(event) => event.preventDefault()}
        onKeyDown={onKeyDown}
        onKeyUp={onKeyUp}
        onBlur={hold.letGo}
        onClick={onClick}
      >
        <Icon name="microphone" />
      </IconButton>
      <IconButton
        label="Talk hands-free (Alt+Shift+V)"
        aria-pressed={isHandsFree}
        className={classes(isHandsFree && 'bg-accent-soft text-accent')}
        onClick={() => session.tell(isHandsFree ? { type: 'end' } : { type: 'begin', mode: 'hands_free' })}
      >
        <Icon name="waves" />
      </IconButton>
    </>
  )
}
