import { classes } from '../components/classes.ts'
import { Icon } from '../components/icon.tsx'
import { PaletteButton } from '../palette/palette-button.tsx'
import { SessionList } from '../talk/session-list.tsx'
import { Link } from './link.tsx'
import { usePlace } from './router.ts'
import { screens } from './screens.tsx'
import { ThemeSwitch } from './theme-switch.tsx'
import { useWho } from './who.ts'

export function SideList() {
  const { path } = usePlace()
  const { is_owner, agent_name } = useWho()
  const shown = screens.filter((screen) => is_owner || !screen.isOwners)
  return (
    <nav aria-label="Familiar" className="flex h-full flex-col gap-2 p-3">
      <Link href="/" className="px-2 py-1 text-lg font-semibold tracking-tight">
        {agent_name}
      </Link>
      <PaletteButton />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <SessionList />
      </div>
      <ul className="grid max-h-[55%] shrink-0 grid-cols-2 gap-x-1 overflow-y-auto border-t border-line pt-2">
        {shown.map(({ path: target, label, icon }) => {
          const isHere = path === target || path.startsWith(`${target}/`)
          return (
            <li key={target}>
              <Link
                href={target}
                aria-current={isHere ? 'page' : undefined}
                className={classes(
                  'flex min-h-7 items-center gap-2.5 rounded-lg px-2 text-sm hover:bg-ground max-md:min-h-10',
                  isHere ? 'bg-ground font-medium' : 'text-soft',
                )}
              >
                <Icon name={icon} size={16} />
                {label}
              </Link>
            </li>
          )
        })}
      </ul>
      <ThemeSwitch />
    </nav>
  )
}
