import { core } from './0001-core.ts'
import { textSearch } from './0002-text-search.ts'
import { addMemoryTables } from './0003-memory.ts'
import { addToolTables } from './0004-tools.ts'
import { addCapabilityTables } from './0005-capabilities.ts'
import { workspace } from './0006-workspace.ts'
import { channels } from './0007-channels.ts'
import { addPageTables } from './0008-page.ts'
import { fleet } from './0009-fleet.ts'
import { indexKeys } from './0010-index-keys.ts'
import { searchEveryText } from './0011-search-every-text.ts'
import { permissions } from './0012-permissions.ts'
import { untrustedFiles } from './0014-untrusted-files.ts'
import { branches } from './0017-branches.ts'
import { folders } from './0018-folders.ts'
import { approvalLanguage } from './0019-approval-language.ts'
import type { Migration } from './migration.ts'

/** In the order of their names. A released migration never changes and never leaves the list. */
export const allMigrations: readonly Migration[] = [
  core,
  textSearch,
  addMemoryTables,
  addToolTables,
  addCapabilityTables,
  workspace,
  channels,
  addPageTables,
  fleet,
  indexKeys,
  searchEveryText,
  permissions,
  untrustedFiles,
  branches,
  folders,
  approvalLanguage,
]
