import { createContext, useContext } from 'react'
import type { WhoReply } from '../../../src/protocol/page-api.ts'

const nobody: WhoReply = { name: '', is_owner: false, scope: 'read', agent_name: 'Familiar', version: '' }

export const WhoContext = createContext<WhoReply>(nobody)

/** Who looks at the page. */
export const useWho = () => useContext(WhoContext)
