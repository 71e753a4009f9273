import { Icon } from '../components/icon.tsx'
import { Key } from './key-list.tsx'
import { showOverPage } from './palette-state.ts'
import { paletteKeys } from './shortcuts.ts'

export function PaletteButton() {
  return (
    <button
      type="button"
      onClick={() => showOverPage('palette')}
      className="flex min-h-9 w-full items-center gap-2 rounded-lg px-2.5 text-start text-sm text-soft hover:bg-ground hover:text-ink"
    >
      <Icon name="search" size={16} />
      <span className="flex-1">Find anything</span>
      <span aria-hidden="true" className="flex gap-1 max-md:hidden">
        {paletteKeys.map((key) => (
          <Key key={key} name={key} />
        ))}
      </span>
    </button>
  )
}
