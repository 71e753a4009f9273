import { useWho } from '../shell/account.tsx'
import { screens } from '../shell/screens.tsx'
import { t } from '../strings/strings.ts'
import { Key } from './over-page.tsx'
import { helpKeys, paletteKeys, screenLetters, useUsesLetterKeys } from './shortcuts.ts'

interface Group {
  title: string
  keys: [keys: readonly string[], what: string][]
}

const letters: Group['keys'] = [
  [['n'], t.palette.newConversation],
  [['/'], t.palette.focusMessageSearch],
]

/** Every shortcut that there is, for those who may use it. */
export function KeyList() {
  const { is_owner } = useWho()
  const usesLetters = useUsesLetterKeys()
  const shown = screens.filter((screen) => is_owner || !screen.isOwners)
  const places = [{ path: '/', label: t.palette.chat }, ...shown].flatMap(({ path, label }) => {
    const letter = screenLetters[path]
    return letter ? [[['g', letter], label] as [string[], string]] : []
  })
  const groups: Group[] = [
    {
      title: t.palette.everywhere,
      keys: [
        [paletteKeys, t.palette.quickSearch],
        [helpKeys, t.palette.keyboardShortcuts],
        ...(usesLetters ? letters : []),
        [['Tab'], t.palette.nextElement],
      ],
    },
    {
      title: t.palette.messageField,
      keys: [
        [['Enter'], t.common.send],
        [['Shift', 'Enter'], t.palette.newLine],
        [['↑'], t.palette.editLast],
        [['Esc'], t.palette.stopReply],
        [['/'], t.palette.startCommands],
        [['@'], t.palette.mentionAFile],
        [['@', '@'], t.palette.mentionANote],
        [['Alt', 'V'], t.palette.holdToTalk],
        [['Alt', 'Shift', 'V'], t.palette.handsFreeVoice],
      ],
    },
    ...(usesLetters ? [{ title: t.palette.goTo, keys: places }] : []),
  ]
  return (
    <div className="grid gap-x-8 gap-y-5 sm:grid-cols-2">
      {groups.map(({ title, keys }) => (
        <div key={title} className={title === t.palette.goTo ? 'sm:col-span-2' : undefined}>
          <h3 className="mb-1 text-sm font-medium text-soft">{title}</h3>
          <dl className={title === t.palette.goTo ? 'text-sm sm:columns-2 sm:gap-x-8' : 'text-sm'}>
            {keys.map(([pressed, what]) => (
              <div key={what} className="flex break-inside-avoid items-center gap-3 py-1">
                <dt dir="ltr" className="flex w-28 shrink-0 flex-wrap gap-1 rtl:justify-end">
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
