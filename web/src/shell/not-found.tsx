import { Empty } from '../components/notice.tsx'
import { Screen } from '../components/screen.tsx'
import { Link } from './link.tsx'

/** An address that no screen has, or one that is the owner's alone. */
export function NotFound({ isOwners = false }: { isOwners?: boolean }) {
  return (
    <Screen title={isOwners ? 'For the owner' : 'Nothing is here'}>
      <Empty title={isOwners ? 'This is for the owner of this home.' : 'There is no screen at this address.'}>
        <Link href="/" className="text-accent hover:underline">
          To the conversation
        </Link>
      </Empty>
    </Screen>
  )
}
