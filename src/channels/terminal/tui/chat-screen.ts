import {
  type Component,
  Container,
  setCapabilities,
  type Terminal,
  TuiMainScreen,
  wrapTextWithAnsi,
} from '@earendil-works/pi-tui'
import type { ChatController } from './chat-controller.ts'
import { createCompletion, type Offers } from './completion.ts'
import { drawAsk } from './draw-ask.ts'
import { drawStatus } from './draw-status.ts'
import type { View } from './drawing.ts'
import { MessageEditor } from './message-editor.ts'
import { safeLines } from './safe-component.ts'
import type { Theme } from './theme.ts'
import { createTranscript } from './transcript.ts'

/** The parts of the screen, from the top: greeting, talk, what waits to be sent, what is asked, the editor, the status. */
export interface ChatScreen {
  readonly tui: TuiMainScreen
  readonly editor: MessageEditor
  /** In place of the editor; undefined brings that back. */
  show(modal: Component | undefined): void
  hasModal(): boolean
  redraw(): void
}

export interface ScreenState {
  view: View
  /** Said at the right of the status line for a moment. */
  hint: string | undefined
  /** The keys that answer what is asked count now. */
  isArmed: boolean
  /** The line under way is the answer to what is asked. */
  isAnswering: boolean
}

export function createChatScreen(options: {
  terminal: Terminal
  theme: Theme
  controller: () => ChatController
  state: () => ScreenState
  offers: Offers
  greeting: readonly string[]
  now: () => number
}): ChatScreen {
  const { terminal, theme, controller, state, offers, greeting, now } = options
  // Links are shown with where they lead, pictures by their names: neither is left to sequences of the terminal.
  setCapabilities({ images: null, trueColor: false, hyperlinks: false })
  const tui = new TuiMainScreen(terminal, false)
  const conversation = () => controller().conversation()
  const editor = new MessageEditor(tui, theme)
  editor.setAutocompleteProvider(createCompletion(offers))

  const slot = new Container()
  const transcript = createTranscript({ theme, conversation, view: () => state().view, now })
  const live = (draw: (width: number) => string[]): Component => ({
    render: (width) => safeLines(draw(width), width),
    invalidate() {},
  })

  tui.addChild(live((width) => [...greeting.flatMap((line) => wrapTextWithAnsi(line, width)), '']))
  tui.addChild(transcript)
  tui.addChild(
    live((width) =>
      drawPending(
        conversation().pending.map(({ shown }) => shown),
        width,
      ),
    ),
  )
  tui.addChild(
    live((width) => {
      const [first, ...others] = conversation().asks
      const { isArmed, isAnswering } = state()
      return first ? drawAsk(first, { width, theme, waiting: others.length, isArmed, isAnswering }) : []
    }),
  )
  tui.addChild(live(() => ['']))
  tui.addChild(slot)
  tui.addChild(
    live((width) => drawStatus(conversation(), controller().facts(), { width, theme, now: now(), hint: state().hint })),
  )

  /** Not yet taken up: a turn is still running, or the line is broken. */
  function drawPending(pending: readonly string[], width: number): string[] {
    if (pending.length === 0) return []
    const lines = pending.map((shown) => wrapTextWithAnsi(`› ${shown}`, width)[0] ?? '')
    return ['', ...lines.map(theme.dim)]
  }

  let modal: Component | undefined
  function show(next: Component | undefined): void {
    modal = next
    slot.clear()
    slot.addChild(next ?? editor)
    tui.setFocus(next ?? editor)
    tui.requestRender()
  }
  show(undefined)

  return { tui, editor, show, hasModal: () => modal !== undefined, redraw: () => tui.requestRender() }
}
