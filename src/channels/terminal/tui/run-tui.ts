import type { Clock } from '../../../base/clock.ts'
import type { Attachment } from '../../../protocol/api.ts'
import { createChatController, describe } from './chat-controller.ts'
import { createChatKeys } from './chat-keys.ts'
import { createChatScreen, type ScreenState } from './chat-screen.ts'
import { displayable } from './displayable.ts'
import { drawWindow } from './draw-window.ts'
import { createHistorySearch } from './history-search.ts'
import { imagePathIn } from './image-path.ts'
import { createSecretInput, pasted } from './secret-input.ts'
import { createStreamTerminal, type TerminalInput, type TerminalOutput } from './stream-terminal.ts'
import { createTheme } from './theme.ts'
import type { TuiMachine, TuiPartner } from './tui-partner.ts'

const tickMs = 100

export interface TuiOptions {
  input: TerminalInput
  output: TerminalOutput
  partner: TuiPartner
  machine: TuiMachine
  colours: boolean
  clock: Clock
  /** Ends the chat from outside. */
  signal: AbortSignal
}

/**
 * A chat that draws on the whole terminal. Resolves when the user leaves, with the terminal as it was; a turn that is
 * still running goes on without.
 */
export async function runTui(options: TuiOptions): Promise<void> {
  const { partner, machine, clock, signal } = options
  const theme = createTheme(options)
  const left = new AbortController()
  const either = AbortSignal.any([signal, left.signal])
  const state: Pick<ScreenState, 'view' | 'hint'> = {
    view: { showsThinking: false, openCalls: 'none' },
    hint: undefined,
  }
  const images = new Map<string, Attachment>()
  const typed = [...displayable(machine.history)]
  const leave = () => left.abort()

  const controller = createChatController({
    partner,
    clock,
    ownCommands: { ...toldCommands(), context: { run: showWindow }, help: { run: showHelp } },
    onChange: changed,
    onLeave: leave,
    signal: either,
  })
  const { conversation } = controller
  const screen = createChatScreen({
    terminal: createStreamTerminal(options),
    theme,
    controller: () => controller,
    state: () => ({ ...state, isArmed: keys.isArmed(), isAnswering: keys.isAnswering() }),
    offers: { complete: (line) => partner.commands.complete(line), find: partner.find },
    greeting: [
      `${theme.bold(theme.accent('Familiar'))} ${theme.dim(displayable(partner.where))}`,
      theme.dim('/ commands · @ files · @@ blocks · Ctrl-R history · Ctrl-O tools · Ctrl-T thinking'),
    ],
    now: clock.now,
  })
  const { tui, editor } = screen
  const keys = createChatKeys(
    {
      firstAsk: () => conversation().asks[0],
      isRunning: () => conversation().turn !== undefined || conversation().pending.length > 0,
      isLineEmpty: () => editor.isEmpty(),
      clearLine: () => editor.setText(''),
      answer: controller.answer,
      putOff: controller.putOff,
      askSecret,
      stop: controller.stop,
      leave,
      searchHistory,
      takeClipboardImage: () => void takeClipboardImage(),
      takePastedImage,
      changeView(change) {
        state.view = change(state.view)
      },
      hint(text) {
        state.hint = text
        screen.redraw()
      },
      redraw: screen.redraw,
    },
    clock,
  )

  editor.onSubmit = (text) => {
    const shown = editor.shown()
    if (text === '') return
    const isAnswer = keys.isAnswering()
    typed.unshift(text)
    editor.addToHistory(text)
    machine.remember(text)
    const attachments = [...images].filter(([mark]) => text.includes(mark)).map(([, image]) => image)
    images.clear()
    controller.submit({ text, shown, attachments, isAnswer })
  }
  for (const text of typed.slice(0, 100).toReversed()) editor.addToHistory(text)

  let asking: string | undefined
  /** Keys that were pressed while a file was looked for: an Enter must not overtake the image before it. */
  const held: string[] = []
  let isHolding = false
  let isTicking = false
  let isAskingSecret = false

  function changed(): void {
    const [first] = conversation().asks
    if (first?.id !== asking) {
      asking = first?.id
      keys.asked()
      // It was answered elsewhere, or its time is up.
      if (isAskingSecret) endSecret()
    }
    screen.redraw()
    tick()
  }

  /** Time that is shown passes. */
  function tick(): void {
    if (isTicking || either.aborted || !conversation().turn) return
    isTicking = true
    clock.after(tickMs, () => {
      isTicking = false
      screen.redraw()
      tick()
    })
  }

  /** Opened by the user alone: what they were typing just then must not become the secret. */
  function askSecret(): void {
    const [first] = conversation().asks
    if (first?.kind !== 'secret') return
    const onDone = (value: string | undefined) => {
      endSecret()
      if (value === undefined) controller.putOff()
      else controller.giveSecret(value)
    }
    isAskingSecret = true
    screen.show(createSecretInput({ theme, name: first.secret, onDone }))
  }

  function endSecret(): void {
    isAskingSecret = false
    screen.show(undefined)
  }

  function searchHistory(): void {
    const onDone = (chosen: string | undefined) => {
      screen.show(undefined)
      if (chosen !== undefined) editor.setText(chosen)
    }
    screen.show(createHistorySearch({ theme, entries: typed, onDone }))
  }

  function attach(image: Attachment): void {
    const name = displayable(image.name)
    let mark = `[image ${name}]`
    for (let copy = 2; images.has(mark); copy += 1) mark = `[image ${name} ${copy}]`
    images.set(mark, image)
    editor.insertTextAtCursor(`${mark} `)
    screen.redraw()
  }

  function takePastedImage(data: string): boolean {
    const path = imagePathIn(pasted(data) ?? '')
    if (path === undefined) return false
    isHolding = true
    machine
      .readImage(path)
      .then(
        (image) => (image ? attach(image) : editor.handleInput(data)),
        (error: unknown) => controller.dispatch({ type: 'note', tone: 'bad', text: describe(error) }),
      )
      .finally(releaseKeys)
    return true
  }

  function releaseKeys(): void {
    const waiting = held.splice(0)
    isHolding = false
    for (const [place, data] of waiting.entries()) {
      if (!keys.press(data)) editor.handleInput(data)
      // It may have been another image, which holds those after it.
      if (!isHolding) continue
      held.push(...waiting.slice(place + 1))
      break
    }
    screen.redraw()
  }

  async function takeClipboardImage(): Promise<void> {
    const image = await machine.clipboardImage().catch(() => undefined)
    if (image) return attach(image)
    state.hint = 'no image in the clipboard'
    screen.redraw()
  }

  /** What the session tells of itself, as a note. */
  function toldCommands(): Record<string, { run(): Promise<void> }> {
    const told = Object.entries(partner.ownCommands).map(([name, command]) => {
      const run = async () =>
        controller.dispatch({ type: 'note', tone: 'plain', text: (await command.run()).join('\n') })
      return [name, { run }]
    })
    return Object.fromEntries(told)
  }

  async function showWindow(): Promise<void> {
    const report = await partner.context()
    if (!report) return controller.dispatch({ type: 'note', tone: 'quiet', text: 'Nothing was said yet.' })
    const safe = displayable(report)
    controller.dispatch({ type: 'picture', draw: (width) => drawWindow(safe, { width, theme }) })
  }

  async function showHelp(): Promise<void> {
    const { text } = await partner.commands.run('/help')
    controller.dispatch({ type: 'note', tone: 'plain', text })
    controller.dispatch({ type: 'note', tone: 'plain', text: keyHelp })
  }

  tui.addInputListener((data) => {
    if (screen.hasModal()) return undefined
    if (isHolding) {
      held.push(data)
      return { consume: true }
    }
    const isUsed = keys.press(data)
    if (isUsed) screen.redraw()
    return isUsed ? { consume: true } : undefined
  })
  options.input.on('end', leave)
  tui.start()
  changed()
  await new Promise<void>((resolve) => {
    if (either.aborted) resolve()
    either.addEventListener('abort', () => resolve(), { once: true })
  })
  tui.renderNow()
  tui.stop()
  options.input.off('end', leave)
}

const keyHelp = [
  'At this terminal:',
  'Enter sends; Shift-Enter, Alt-Enter, Ctrl-J or \\ and Enter begin a new line',
  '@ finds files, @@ blocks, Tab completes, Esc closes what popped up',
  'Ctrl-R searches what was typed before; the arrows go through it',
  'Ctrl-O opens the newest tool call, then all; Ctrl-T the thinking',
  'Ctrl-V takes an image from the clipboard; one that is dropped here is sent along',
  'Ctrl-C stops the turn, twice leaves; Ctrl-D leaves an empty line; /exit leaves',
  '// begins a message with a slash',
].join('\n')
