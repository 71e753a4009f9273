import type { UserReply, UsersReply } from '../../../src/protocol/user-api.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Badge } from '../components/badge.tsx'
import { CommandLine } from '../components/command-line.tsx'
import { Failure } from '../components/notice.tsx'
import { Screen, Section } from '../components/screen.tsx'
import { When } from '../components/when.tsx'

const commands: [what: string, command: string][] = [
  ['Add somebody; their token is shown once', 'familiar users add NAME --tier guest'],
  ['Let somebody into this page, by a link of one use', 'familiar sign-in --user NAME'],
  ['Give somebody another tier', 'familiar users tier NAME TIER'],
  ['A new token in place of all that somebody has', 'familiar users rotate NAME'],
  ['Export all that somebody has, and remove them', 'familiar users remove NAME'],
  ['The tokens of everybody', 'familiar token list'],
  ['End one of them', 'familiar token revoke ID'],
  ['Let somebody pair on Telegram', 'familiar telegram pair --user NAME'],
  ['Who may speak on Telegram', 'familiar telegram contacts'],
]

export function UsersScreen() {
  const { data, error, refresh } = useAnswer<UsersReply>('/users')
  return (
    <Screen
      title="Users"
      intro="Who else uses this home. Nobody sees what is another one’s: conversations, memories, blocks and capabilities are each user’s own."
    >
      {error && <Failure error={error} onRetry={refresh} />}
      <Section title="Who is here">
        <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
          {data?.users.map((user) => (
            <UserRow key={user.id} user={user} />
          ))}
        </ul>
        {data?.users.length === 1 && (
          <p className="mt-3 text-sm text-soft">
            You are alone here. A family member or a program with a name of its own gets a token, a tier that says what
            it may use and spend, and a memory of its own.
          </p>
        )}
      </Section>
      <Section title="To change something">
        <p className="mb-3 text-soft">
          Whoever could do this over the network could let others in. It is done in a terminal on the machine itself:
        </p>
        <dl className="space-y-3">
          {commands.map(([what, command]) => (
            <div key={command}>
              <dt className="mb-1 text-sm text-soft">{what}</dt>
              <dd>
                <CommandLine command={command} />
              </dd>
            </div>
          ))}
        </dl>
      </Section>
    </Screen>
  )
}

function UserRow({ user: { name, role, tier, has_tier, created_at } }: { user: UserReply }) {
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5">
      <span className="min-w-0 flex-1 font-medium">{name}</span>
      {role === 'owner' ? <Badge kind="good">owner</Badge> : <Badge>{`tier ${tier}`}</Badge>}
      <span className="text-sm text-soft">
        since <When at={created_at} />
      </span>
      {!has_tier && (
        <p className="w-full text-sm text-bad">
          familiar.toml no longer names the tier “{tier}”: until it does, they may do nothing.
        </p>
      )}
    </li>
  )
}
