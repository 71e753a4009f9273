import { screens } from '../shell/screens.tsx'
import { useWho } from '../shell/who.ts'
import { paletteKeys, screenLetters } from './shortcuts.ts'

interface Group {
  title: string
  keys: [keys: readonly string[], what: string][]
}

/** Every shortcut that there is, for those who may use it. */
export function KeyList() {
  const { is_owner } = useWho()
  const shown = screens.filter((screen) => is_owner || !screen.isOwners)
  const places = [{ path: '/', label: 'Talk' }, ...shown].flatMap(({ path, label }) => {
    const letter = screenLetters[path]
    return letter ? [[['g', letter], label] as [string[], string]] : []
  })
  const groups: Group[] = [
    {
      title: 'Everywhere',
      keys: [
        [paletteKeys, 'Find anything'],
        [['?'], 'This list'],
        [['n'], 'New conversation'],
        [['/'], 'To the message or the search'],
        [['Tab'], 'To the next thing'],
      ],
    },
    {
      title: 'While you write',
      keys: [
        [['Enter'], 'Send'],
        [['Shift', 'Enter'], 'A new line'],
        [['Esc'], 'Stop the reply'],
        [['/'], 'At the beginning: a command'],
        [['@'], 'A file'],
        [['@', '@'], 'A block'],
        [['Alt', 'V'], 'Held: speak'],
        [['Alt', 'Shift', 'V'], 'Talk hands-free'],
      ],
    },
    { title: 'Go to', keys: places },
  ]
  return (
    <div className="grid gap-x-8 gap-y-5 sm:grid-cols-2">
      {groups.map(({ title, keys }) => (
        <div key={title} className={title === 'Go to' ? 'sm:col-span-2' : undefined}>
          <h3 className="mb-1 text-sm font-medium text-soft">{title}</h3>
          <dl className={title === 'Go to' ? 'text-sm sm:columns-2 sm:gap-x-8' : 'text-sm'}>
            {keys.map(([pressed, what]) => (
              <div key={what} className="flex break-inside-avoid items-center gap-3 py-1">
                <dt className="flex w-28 shrink-0 flex-wrap gap-1">
                  {pressed.map((key, index) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: the same key may be pressed twice.
                    <Key key={index} name={key} />
                  ))}
                </dt>
                <dd className="min-w-0">{what}</dd>
              </div>
            ))}
          </dl>
        </div>
      ))}
    </div>
  )
}

export function Key({ name }: { name: string }) {
  return (
    <kbd className="inline-flex min-w-6 items-center justify-center rounded border border-line bg-sunken px-1.5 font-sans text-xs text-soft">
      {name}
    </kbd>
  )
}
