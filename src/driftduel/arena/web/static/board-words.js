/* Texts of the page that depend on the browser (times), and descriptions of the counts. */
import { counted, duration, when, whole } from "./wording.js";

export const quoted = (name) => (/\s/.test(name) ? `“${name}”` : name); // marks the end of a name with spaces

// Progress of the evidence against a rival, from 0 to 1, on a logarithmic scale.
export const way = (rival) => Math.max(0, Math.min(1, Math.log(Math.max(rival.e, 1e-300)) / Math.log(rival.needed)));
export const enough = (rival) => rival.e >= rival.needed;

// The sentences of the server contain no time of day, because the time zone is the browser's.
export const since = (board) => (board.since && board.votes ? `Since ${when(board.since.at)}.` : "");

export function change({ before, after, alarm }) {
  if (!before) return `${quoted(after.name)} took the lead.`;
  if (!after) return `${quoted(before.name)} lost the lead, and no option took it.`;
  return `${quoted(after.name)} took the lead from ${quoted(before.name)}${alarm ? ": an alarm, the leader was beaten" : ", without an alarm"}.`;
}

export function certifiedChange({ before, after, from_vote: from, to_vote: to }) {
  return `Preferences changed between vote ${whole(from)} and vote ${whole(to)} (certified): ${quoted(before)} was preferred to ${quoted(after)} before, ${quoted(after)} to ${quoted(before)} after.`;
}

function itemsNote({ retired, balance, fewest, most }) {
  const parts = [`each was shown ${fewest === most ? whole(most) : `${whole(fewest)} to ${whole(most)}`} times`];
  if (retired) parts.push(`${counted(retired, "more was", "more were")} retired or replaced`);
  if (balance) parts.push(`values of the tag ${quoted(balance)} are shown equally often`);
  return parts.join("; ");
}

// Rows of label, value and description.
export function counts(board) {
  const { lateness: late, votes_per_voter: each } = board, pair = board.show ? "slate" : "pair";
  return [
    ["Votes", whole(board.votes), "picks and ties that were recorded in time"],
    ["Learned", whole(board.learned), "votes that the policy has learned"],
    ["Equal", whole(board.ties), "votes without a preference"],
    ...(board.both_bad ? [["Both bad", whole(board.both_bad), `votes against ${board.show ? "all" : "both"} options; they count as ties`]] : []),
    ["Skipped", whole(board.skips), "no answer was given"],
    ["Late", whole(board.late), `arrived after the ${pair} had been released; recorded, not counted`],
    ["Not counted", whole(board.uncounted), `one voter's votes on one ${board.show ? "set of options" : "pair"} beyond a day's limit`],
    ["Voided", whole(board.voided), "removed later by the owner"],
    ...(board.imported ? [["Imported", whole(board.imported), "past votes that the arena started from"]] : []),
    ...(board.items ? [["Items", whole(board.items.count), itemsNote(board.items)]] : []),
    ["Open now", whole(board.open), `${pair}s that are shown without an answer yet`],
    ["Waiting", whole(board.waiting), "votes that can still be undone, or wait for earlier ones"],
    ["Voters", whole(board.voters), each?.median ? `half of them gave at most ${counted(each.median, "vote")}; the most were ${whole(each.most)}` : ""],
    ["Time to answer", duration(late?.median), late?.p90 ? `half were faster than this; one in ten took longer than ${duration(late.p90)}` : ""],
  ];
}
