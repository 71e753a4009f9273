import type { UserReply } from '../../../src/protocol/users.ts'
import { useAnswer } from '../api/call.ts'
import { Badge, CommandLine } from '../components/controls.tsx'
import { Failure } from '../components/feedback.tsx'
import { Screen, Section, When } from '../components/layout.tsx'
import { t } from '../strings/strings.ts'

const commands: [what: string, command: string][] = [
  [t.users.addUserTokenShown, 'familiar users add NAME --plan guest'],
  [t.users.createOneTimeSign, 'familiar sign-in --user NAME'],
  [t.users.changeUsersPlan, 'familiar users plan NAME PLAN'],
  [t.users.replaceUsersTokens, 'familiar users rotate NAME'],
  [t.users.exportRemoveUser, 'familiar users remove NAME'],
  [t.users.listAllTokens, 'familiar tokens list'],
  [t.users.revokeAToken, 'familiar tokens revoke ID'],
  [t.users.pairUserTelegram, 'familiar telegram pair --user NAME'],
  [t.users.listTelegramContacts, 'familiar telegram contacts'],
]

export function UsersScreen() {
  const { data, error, refresh } = useAnswer('users.list', {})
  return (
    <Screen title={t.users.users} intro={t.users.peopleAccessEachSeparate}>
      {error && <Failure error={error} onRetry={refresh} />}
      <Section title={t.users.users}>
        <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
          {data?.users.map((user) => (
            <UserRow key={user.id} user={user} />
          ))}
        </ul>
        {data?.users.length === 1 && <p className="mt-3 text-sm text-soft">{t.users.noOtherUsersFamily}</p>}
      </Section>
      <Section title={t.users.manageUsers}>
        <p className="mb-3 text-soft">{t.users.securityUsersManagedFrom}</p>
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
      {role === 'owner' ? <Badge kind="good">{t.users.owner}</Badge> : <Badge>{t.users.plan(tier)}</Badge>}
      <span className="text-sm text-soft">
        {t.users.since} <When at={created_at} />
      </span>
      {!has_tier && <p className="w-full text-sm text-bad">{t.users.planMissingFamiliarToml(tier)}</p>}
    </li>
  )
}
