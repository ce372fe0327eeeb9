import { api, take } from "../../api/client";
import { TableBox } from "../../components/TableBox";
import { count, decimal, t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { workspace } from "../../state/location";
import { Balance } from "./Bars";

/** What people found the best of answers side by side; nothing is shown where nobody did. */
export function Preferences() {
  const words = t.value.evaluation;
  const loaded = useLoaded(workspace.value, (signal) => {
    const params = { path: { workspace: workspace.value }, query: { limit: 0 } };
    return take(api.GET("/api/v1/workspaces/{workspace}/preferences", { params, signal }));
  });
  const pairs = loaded.data?.pairs ?? [];
  if (pairs.length === 0) return null;
  return (
    <section class="card" aria-labelledby="preferences-title">
      <div class="card-head">
        <h2 id="preferences-title">{words.preferred}</h2>
        <span class="small muted">{words.choices(loaded.data?.total ?? 0)}</span>
      </div>
      <TableBox label={words.preferred}>
        <table>
          <thead>
            <tr>
              <th scope="col">{words.first}</th>
              <th scope="col">{words.second}</th>
              <th scope="col">{words.balance}</th>
              <th scope="col" class="number">
                p
              </th>
            </tr>
          </thead>
          <tbody>
            {pairs.map((pair) => (
              <tr key={`${pair.first}\n${pair.second}`}>
                <th scope="row" class="break">
                  {pair.first}
                </th>
                <td class="break">{pair.second}</td>
                <td>
                  <span class="row nowrap number">
                    <Balance {...pair} />
                    {words.wins(count(pair.wins), count(pair.ties), count(pair.losses))}
                  </span>
                </td>
                <td class="number">{decimal(pair.p_value, 3)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableBox>
    </section>
  );
}
