import { matchesKey } from '@earendil-works/pi-tui'
import type { Clock } from '../../../base/clock.ts'
import type { Ask } from './conversation.ts'
import type { View } from './drawing.ts'

/** Two presses of Ctrl-C within this time are meant as one wish to leave, whatever the first one stopped. */
const againMs = 3_000
/** A key answers a question only when it has stood there this long with no key pressed: it was not meant for the line. */
const armingMs = 600

/** What the keys do, beside writing. */
export interface KeyActions {
  firstAsk(): Ask | undefined
  isRunning(): boolean
  isLineEmpty(): boolean
  clearLine(): void
  answer(word: 'approve' | 'deny'): void
  putOff(): void
  /** Opens the line for what is not to be seen. */
  askSecret(): void
  stop(): void
  leave(): void
  searchHistory(): void
  takeClipboardImage(): void
  /** True where the paste is an image, which is then taken care of. */
  takePastedImage(data: string): boolean
  changeView(change: (view: View) => View): void
  /** Said for a moment at the edge of the screen. */
  hint(text: string | undefined): void
  redraw(): void
}

export interface ChatKeys {
  /** True where the key is used up. */
  press(data: string): boolean
  isArmed(): boolean
  /** The line was begun after the question stood there: only then can it be the answer. */
  isAnswering(): boolean
  /** Something new is asked. */
  asked(): void
}

export function createChatKeys(actions: KeyActions, clock: Clock): ChatKeys {
  let pressedAt: number | undefined
  let quietSince = clock.now()
  let cancelArming = () => {}
  let cancelHint = () => {}
  let isLineOlder = false

  function disturb(): void {
    quietSince = clock.now()
    cancelArming()
    cancelArming = clock.after(armingMs, actions.redraw)
  }

  function isArmed(): boolean {
    return actions.isLineEmpty() && clock.now() - quietSince >= armingMs
  }

  function interrupt(): void {
    const isAgain = pressedAt !== undefined && (actions.isRunning() || clock.now() - pressedAt < againMs)
    pressedAt = clock.now()
    cancelHint()
    cancelHint = clock.after(againMs, () => actions.hint(undefined))
    if (isAgain) actions.leave()
    else if (actions.isRunning()) {
      actions.stop()
      actions.hint('stopping · Ctrl-C again leaves')
    } else {
      actions.clearLine()
      actions.hint('Ctrl-C again leaves')
    }
  }

  /** The user's word by one key, where it can only be meant so. */
  function answers(data: string): boolean {
    const kind = actions.firstAsk()?.kind
    if ((kind !== 'approval' && kind !== 'confirm') || !isArmed()) return false
    if (data !== 'y' && data !== 'n') return false
    actions.answer(data === 'y' ? 'approve' : 'deny')
    return true
  }

  function act(data: string): boolean {
    if (matchesKey(data, 'ctrl+c')) interrupt()
    else if (matchesKey(data, 'ctrl+d') && actions.isLineEmpty()) actions.leave()
    else if (matchesKey(data, 'ctrl+r')) actions.searchHistory()
    else if (matchesKey(data, 'ctrl+v')) actions.takeClipboardImage()
    else if (matchesKey(data, 'ctrl+t')) actions.changeView((view) => ({ ...view, showsThinking: !view.showsThinking }))
    else if (matchesKey(data, 'ctrl+o'))
      actions.changeView((view) => ({ ...view, openCalls: nextOpen[view.openCalls] }))
    else if (matchesKey(data, 'escape') && isAskedAlone()) actions.putOff()
    else if (matchesKey(data, 'tab') && isAskedAlone() && actions.firstAsk()?.kind === 'secret') actions.askSecret()
    else return actions.takePastedImage(data)
    return true
  }

  function isAskedAlone(): boolean {
    return actions.firstAsk() !== undefined && actions.isLineEmpty()
  }

  return {
    isArmed,
    isAnswering: () => !isLineOlder,
    asked() {
      isLineOlder = !actions.isLineEmpty()
      disturb()
    },
    press(data) {
      if (actions.isLineEmpty()) isLineOlder = false
      if (!matchesKey(data, 'ctrl+c')) {
        pressedAt = undefined
        actions.hint(undefined)
      }
      const isUsed = answers(data) || act(data)
      disturb()
      return isUsed
    },
  }
}

const nextOpen = { none: 'newest', newest: 'all', all: 'none' } as const
